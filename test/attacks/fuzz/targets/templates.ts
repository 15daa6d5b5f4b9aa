import { validate } from '#http/validation'
import type { JsonObject } from '#model/json-value'
import { renderedBytesMax, renderMail, subjectCharactersMax } from '#model/mail-text'
import { OutputTooLarge } from '#model/mustache'
import { TemplateBody } from '#model/template'
import { utf8BytesOf } from '#model/text'
import { dataOf } from '#notifications/mail-data'
import { expectThat, refusing, seedsOf, type Target } from '#test/attacks/fuzz/target'

/** Templates of mails: subject, text and HTML, with a zero between them. */

const evil = '</p><script a=\'1\' b="2">&`\r\nBcc: x@y\0\u2028{{{value}}}'
const cause = { on: 'alarm', alarm: evil } as const
const meta: JsonObject = {
  list: [1, evil, [2, { a: 3 }], null],
  site: { floor: 3 },
  'site.name': evil,
  toString: 'own',
}
const data = dataOf(
  { device: 'A', at: 1_790_000_000_000, value: 91.5, previous: evil, cause },
  { functionName: evil, meta },
)

export const seeds = seedsOf(
  'Too hot\0{{deviceIdentifier}}: {{value}}, was {{previous}}',
  '{{function}}\0{{#meta.list}}\n - {{.}}{{/meta.list}}{{^no}}none{{/no}}{{! x }}\0<p title="{{previous}}">{{meta.site.name}}</p>',
  '{{on}} {{alarm}}\0{{#meta}}{{#site}}{{floor}} {{value}}{{/site}}{{/meta}}{{meta.list.length}}',
)

export const fuzz: Target['fuzz'] = (bytes) =>
  refusing(() => {
    const [subject, text = '', html] = Buffer.from(bytes).toString().split('\0')
    const en = { subject, text, ...(html !== undefined && { html }) }
    const template = validate(TemplateBody, { locales: { en } }) as TemplateBody
    const words = toldBy(template)
    if (!words) return
    expectThat([...words.subject].length <= subjectCharactersMax, 'a subject is short')
    expectThat(!/[\p{Cc}\p{Zl}\p{Zp}]/u.test(words.subject), 'a subject is one line')
    expectThat(!/[^\P{Cc}\t\n\r]/u.test(words.text + (words.html ?? '')), 'there are no control characters')
    const size = utf8BytesOf(words.subject) + utf8BytesOf(words.text) + utf8BytesOf(words.html ?? '')
    expectThat(size <= renderedBytesMax, 'a mail is not too large')
    const isPlain = html !== undefined && !/[<>"']/.test(html)
    expectThat(!isPlain || !/[<>"']/.test(words.html ?? ''), 'data brings no markup')
  }, 'invalid')

function toldBy(template: TemplateBody): ReturnType<typeof renderMail> | undefined {
  try {
    return renderMail(template, 'en', data)
  } catch (error) {
    if (error instanceof OutputTooLarge) return undefined
    throw error
  }
}
