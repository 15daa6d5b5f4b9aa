import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { realWorld } from '#app/world'
import { renderMail } from '#model/mail-text'
import { TemplateBody } from '#model/template'
import { type Mail, mailOf } from '#notifications/mail'
import { dataOf, type RunContext } from '#notifications/mail-data'
import { smtpMail } from '#notifications/smtp-mail'
import { headerOf, readMail } from '#test/notifications/read-mail'
import { RealSmtpServer } from '#test/notifications/real-smtp-server'

/** All texts of a mail that come from users. */
interface UserTexts {
  readonly function: string
  readonly alarm: string
  readonly device: string
  readonly value: string
  readonly meta: string
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly locale: string
  readonly to: string
}

const harmless: UserTexts = {
  function: 'Too hot',
  alarm: 'Fire',
  device: 'PUMP-7',
  value: '91.5',
  meta: 'cellar',
  subject: '',
  text: '',
  html: '',
  locale: 'en',
  to: 'ann@people.example',
}

const attempts: readonly (readonly [name: string, text: string])[] = [
  ['a line break', 'a\nBcc: bob@evil.example'],
  ['a carriage return', 'a\rBcc: bob@evil.example'],
  ['a carriage return and a line break', 'a\r\nBcc: bob@evil.example'],
  ['a folded line', 'a\r\n Bcc: bob@evil.example'],
  ['a folded line with a tab', 'a\r\n\tBcc: bob@evil.example'],
  ['the end of headers', 'a\r\n\r\nanother body'],
  ['the end of the mail', 'a\r\n.\r\nMAIL FROM:<bob@evil.example>\r\nRCPT TO:<bob@evil.example>\r\nDATA\r\n'],
  ['a bare dot', '\n.\n'],
  ['a NUL character', 'a\0Bcc: bob@evil.example'],
  ['a line separator', 'a\u2028Bcc: bob@evil.example'],
  ['a paragraph separator', 'a\u2029Bcc: bob@evil.example'],
  ['a next line', 'a\u0085Bcc: bob@evil.example'],
  ['a vertical tab', 'a\vBcc: bob@evil.example\fTo: bob@evil.example'],
  ['characters that become line breaks by their low byte', 'a\u560d\u560aBcc: bob@evil.example'],
  ['an encoded word', '=?utf-8?Q?a=0D=0ABcc:_bob@evil.example?='],
  ['an encoded word in base64', '=?utf-8?B?YQ0KQmNjOiBib2JAZXZpbC5leGFtcGxl?='],
  ['half an encoded word', '=?utf-8?Q?a'],
  ['a boundary', '--0123-Part_1\r\nContent-Type: text/html\r\n\r\n<script>'],
  ['an address', '"Ann" <bob@evil.example>, bob@evil.example;'],
  ['10 000 characters', 'x'.repeat(10_000)],
  ['10 000 large characters', '🔥'.repeat(10_000)],
  ['a tag', '{{{value}}}{{meta}}'],
]

const headerNames = [
  'auto-submitted',
  'x-auto-response-suppress',
  'list-id',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'from',
  'to',
  'subject',
  'message-id',
  'date',
  'mime-version',
  'content-type',
]

let server: RealSmtpServer
let mail: Mail

beforeAll(async () => {
  server = await RealSmtpServer.open()
  mail = smtpMail({
    url: `smtp://127.0.0.1:${server.port}`,
    from: 'Devices, "Dr." <devices@devices.example>',
    world: realWorld,
  })
})

afterAll(async () => {
  await mail.close()
  await server.close()
})

/** A template with these texts, unless it is invalid. */
function bodyOf({ subject, text, html }: UserTexts): TemplateBody | undefined {
  const tags = '{{function}} {{alarm}} {{device}} {{value}} {{meta.place}}'
  const en = { subject: `${tags}${subject}`, text: `${tags}\n${text}`, html: `<p>${tags}</p>${html}` }
  return TemplateBody.safeParse({ locales: { en } }).data
}

async function send(texts: UserTexts) {
  const body = bodyOf(texts)
  if (!body) return undefined
  const { device, value, meta } = texts
  const run = { device, at: 1_700_000_000_000, value, previous: null, cause: { on: 'alarm', alarm: 'a' } } as const
  const around: RunContext = {
    functionName: texts.function,
    alarm: { name: texts.alarm, severity: 'info' },
    meta: { place: meta },
  }
  const text = renderMail(body, texts.locale, dataOf(run, around))
  const before = server.received.length
  const unsubscribeUrl = 'https://devices.example/api/v1/notifications/unsubscribe/a?tenant=b&user=c&sig=d'
  await mail.send(
    mailOf({ mail, to: texts.to, seed: 'seed', date: run.at, text, listId: 'f.devices.example', unsubscribeUrl }),
  )
  return { mails: server.received.slice(before), text }
}

function expectHarmless(
  { mails, text }: NonNullable<Awaited<ReturnType<typeof send>>>,
  to = harmless.to,
  header = to,
): void {
  expect(mails).toHaveLength(1)
  const [{ from, to: recipients, raw } = { from: '', to: [], raw: '' }] = mails
  expect(from).toBe('devices@devices.example')
  expect(recipients).toEqual([to])
  const { headers, subject, text: plain, html } = readMail(raw)
  expect(headers.map(([name]) => name).sort()).toEqual([...headerNames].sort())
  expect(headerOf(headers, 'to')).toBe(header)
  expect(headerOf(headers, 'from')).toBe('"Devices, \\"Dr.\\"" <devices@devices.example>')
  expect(headerOf(headers, 'list-id')).toBe('<f.devices.example>')
  // White space around the value of a header is not significant.
  expect(subject.trim()).toBe(text.subject.trim())
  expect(subject).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
  expect(plain.trimEnd()).toBe(text.text.replace(/\r\n?/g, '\n').trimEnd())
  expect(html?.trimEnd()).toBe(text.html?.replace(/\r\n?/g, '\n').trimEnd())
  for (const line of raw.split('\r\n')) expect(Buffer.byteLength(line, 'latin1')).toBeLessThanOrEqual(998)
}

test('a harmless mail arrives unchanged', async () => {
  const arrived = await send(harmless)
  expect(arrived?.text.subject).toBe('Too hot Fire PUMP-7 91.5 cellar')
  if (arrived) expectHarmless(arrived)
})

describe.each(['function', 'alarm', 'device', 'value', 'meta', 'subject', 'text', 'html', 'locale'] as const)(
  'a mail stays one mail to one recipient with any text as %s:',
  (place) => {
    test.each(attempts)('%s', async (_, text) => {
      const arrived = await send({ ...harmless, [place]: text })
      // Invalid templates are refused before.
      const isValid = bodyOf({ ...harmless, [place]: text }) !== undefined
      expect(arrived !== undefined).toBe(isValid)
      if (!['subject', 'text', 'html'].includes(place)) expect(isValid).toBe(true)
      if (arrived) expectHarmless(arrived)
    })
  },
)

test.each<[to: string, header?: string]>([
  ["!#$%&'*+/=?^_`{|}~-@people.example"],
  ["o'hara+a/b=c@people.example"],
  ['ann@münchen.example', 'ann@xn--mnchen-3ya.example'],
])('an address stays one address: %s', async (to, header) => {
  const arrived = await send({ ...harmless, to })
  if (arrived) expectHarmless(arrived, to, header)
  expect(arrived).toBeDefined()
})
