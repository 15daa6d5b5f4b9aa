import type { JsonObject } from '#model/json-value'
import { getOrInsert } from '#model/map-values'
import { escapeHtml, type MustacheTokens, parseMustache, renderMustache } from '#model/mustache'
import { utf8BytesOf } from '#model/text'

/** Renders mails from templates and their data. Contract 5.5. */

/** The last fallback of every locale. */
export const lastLocale = 'en'

/** Maximum number of code points of a subject, as written and as rendered: mail programs show less. */
export const subjectCharactersMax = 256

/** The texts of a template in one locale, see `TemplateText` in `#model/template`. */
interface LocaleTexts {
  readonly subject: string
  readonly text: string
  readonly html?: string | undefined
}

type Locales = Readonly<Record<string, LocaleTexts>>

/** Maximum size of subject, text and HTML together, in UTF-8. Contract 5.5. */
export const renderedBytesMax = 262_144

export interface RenderedText {
  readonly locale: string
  /** One line of at most 256 code points. */
  readonly subject: string
  readonly text: string
  readonly html?: string
}

/**
 * Renders a template in a user's locale. Values can't add line breaks to the subject, nor control characters other than
 * tabs and line breaks to the texts; in `html` values are escaped.
 * @throws OutputTooLarge
 */
export function renderMail({ locales }: { readonly locales: Locales }, wanted: string, data: JsonObject): RenderedText {
  const locale = localeIn(locales, wanted)
  const texts = locales[locale]
  if (!texts) throw new Error(`a template without ${locale}`)
  const tokens = tokensOf(texts)
  let bytesLeft = renderedBytesMax
  const of = (template: MustacheTokens, toText: (value: string) => string) => {
    const text = renderMustache(template, data, { escape: toText, bytesMax: bytesLeft })
    bytesLeft -= utf8BytesOf(text)
    return text
  }
  const subject = shortened(of(tokens.subject, inOneLine))
  const text = of(tokens.text, inLines)
  const html = tokens.html && of(tokens.html, (value) => escapeHtml(inLines(value)))
  return { locale, subject, text, ...(html !== undefined && { html }) }
}

/** The best locale for the wanted one: itself, its language, otherwise `en`, which always exists. */
export function localeIn(locales: Locales, wanted: string): string {
  const [language = ''] = wanted.split('-')
  return [wanted, language].find((locale) => Object.hasOwn(locales, locale)) ?? lastLocale
}

/** Each text is parsed once while its template exists: a thousand users may receive it. */
const known = new WeakMap<LocaleTexts, TokensOfText>()

interface TokensOfText {
  readonly subject: MustacheTokens
  readonly text: MustacheTokens
  readonly html: MustacheTokens | undefined
}

function tokensOf(texts: LocaleTexts): TokensOfText {
  return getOrInsert(known, texts, () => ({
    subject: parsed(texts.subject),
    text: parsed(texts.text),
    html: texts.html === undefined ? undefined : parsed(texts.html),
  }))
}

/** Templates are validated before they are stored. */
function parsed(text: string): MustacheTokens {
  const tokens = parseMustache(text)
  if ('message' in tokens) throw new Error(`line ${tokens.line}: ${tokens.message}`)
  return tokens
}

function inOneLine(value: string): string {
  return value.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ')
}

function inLines(value: string): string {
  return value.replace(/\r\n?/g, '\n').replace(/[^\P{Cc}\t\n]/gu, ' ')
}

/** Cuts between code points. */
function shortened(subject: string): string {
  if (subject.length <= subjectCharactersMax) return subject
  const characters = [...subject]
  if (characters.length <= subjectCharactersMax) return subject
  return `${characters.slice(0, subjectCharactersMax - 1).join('')}…`
}
