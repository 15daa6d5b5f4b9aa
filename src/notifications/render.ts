import type { JsonObject } from '#model/json-value'
import { renderMustache } from '#model/mustache'
import { localeIn, subjectCharactersMax, type TemplateBody } from '#model/template'

/** UTF-16 units of a text, and of its HTML. Contract 5.5. */
const renderedCharactersMax = 262_144

/** The words of a mail. */
export interface RenderedText {
  /** The one it was found in. */
  readonly locale: string
  readonly subject: string
  readonly text: string
  readonly html?: string
}

/**
 * A template in somebody's locale, with its data in it.
 * @throws OutputTooLarge
 */
export function rendered({ locales }: TemplateBody, wanted: string, data: JsonObject): RenderedText {
  const locale = localeIn(locales, wanted)
  const words = locales[locale]
  if (!words) throw new Error(`a template has no ${locale}`)
  const of = (template: string, escaped: (text: string) => string) =>
    renderMustache(template, data, { escape: escaped, charactersMax: renderedCharactersMax })
  const { html } = words
  return {
    locale,
    subject: of(words.subject, plain)
      .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
      .slice(0, subjectCharactersMax),
    text: of(words.text, plain),
    ...(html !== undefined && { html: of(html, escapeHtml) }),
  }
}

function plain(text: string): string {
  return text
}

const entities: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }

function escapeHtml(text: string): string {
  return text.replace(/[&<>"'/=`]/g, (sign) => `&${entities[sign] ?? `#${sign.charCodeAt(0)}`};`)
}
