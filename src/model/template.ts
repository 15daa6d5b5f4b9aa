import { z } from 'zod'
import { formatCrn, ResourceIdentifier } from '#model/crn'
import { ShortName, Timestamp } from '#model/identifier'
import { entriesWithin, type JsonObject, jsonWithin } from '#model/json-value'
import { escapeHtml, type MustacheTokens, parseMustache, renderMustache } from '#model/mustache'
import { Locale } from '#model/subscription'
import { utf8BytesOf } from '#model/text'

/** The last fallback of every locale. */
export const lastLocale = 'en'

/** Code points of a subject, as written and as rendered: mail programs show less. */
export const subjectCharactersMax = 256

/** Templates of mails, by locale. Contract 5.5. */

/** Templates of a tenant. */
export const templatesMax = 1_000

/** Locales of one template. */
export const templateLocalesMax = 64

/** Of one text. */
export const templateTextBytesMax = 32_768

/** Of a template as JSON: four full texts. */
export const templateBytesMax = 131_072

const Subject = z
  .string()
  .min(1)
  // A character is at most two units.
  .max(2 * subjectCharactersMax, { abort: true })
  .refine((text) => [...text].length <= subjectCharactersMax, `must be at most ${subjectCharactersMax} characters`)
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line without control characters')
  .superRefine(checkMustache)

const Text = z
  .string()
  .refine((text) => utf8BytesOf(text) <= templateTextBytesMax, {
    message: `must be at most ${templateTextBytesMax} bytes`,
    abort: true,
  })
  .regex(/^(?:[^\p{Cc}]|[\t\n\r])*$/u, 'must not contain control characters')
  .superRefine(checkMustache)

/** The texts of a mail in one locale, all three in Mustache. `html` is added to `text` and never replaces it. */
export const TemplateText = z.strictObject({ subject: Subject, text: Text, html: Text.optional() })
export type TemplateText = Readonly<z.infer<typeof TemplateText>>

const locales = entriesWithin(
  z
    .record(Locale, TemplateText)
    .refine((texts) => Object.hasOwn(texts, lastLocale), `must have ${lastLocale}, which other locales fall back to`),
  templateLocalesMax,
)

/** The body of a template. */
export const TemplateBody = jsonWithin(z.strictObject({ locales }), { depthMax: 4, bytesMax: templateBytesMax })
export type TemplateBody = { readonly locales: Readonly<Record<string, TemplateText>> }

/** A stored template. Users are given by resource name; times are Unix ms. */
export interface StoredTemplate extends TemplateBody {
  readonly createdBy: string
  readonly createdAt: number
  readonly updatedBy: string
  readonly updatedAt: number
}

/** A template as the API returns it. */
export const TemplateEntry = z.object({
  name: ShortName,
  locales: z.record(Locale, z.object({ subject: z.string(), text: z.string(), html: z.string().optional() })),
  resourceIdentifier: ResourceIdentifier,
  createdBy: z.string(),
  createdAt: Timestamp,
  updatedBy: z.string(),
  updatedAt: Timestamp,
})
export type TemplateEntry = z.infer<typeof TemplateEntry>

export function templateEntryOf(tenant: string, name: string, stored: StoredTemplate): TemplateEntry {
  return { name, ...stored, resourceIdentifier: formatCrn({ type: 'template', tenant, name }) }
}

function checkMustache(text: string, context: z.RefinementCtx): void {
  const parsed = parseMustache(text)
  if ('message' in parsed) context.addIssue({ code: 'custom', message: `line ${parsed.line}: ${parsed.message}` })
}

/** Renders mails from templates and their data. Contract 5.5. */

/** Of subject, text and HTML together, in UTF-8. Contract 5.5. */
export const renderedBytesMax = 262_144

/** A rendered mail. */
export interface RenderedText {
  /** The locale in which it was found. */
  readonly locale: string
  /** One line of at most 256 code points. */
  readonly subject: string
  readonly text: string
  readonly html?: string
}

/**
 * Renders a template in a user's locale. Values can't add line breaks to a subject or control characters anywhere; in
 * `html` they are escaped.
 * @throws OutputTooLarge
 */
export function renderMail({ locales }: TemplateBody, wanted: string, data: JsonObject): RenderedText {
  const locale = localeIn(locales, wanted)
  const words = locales[locale]
  if (!words) throw new Error(`a template without ${locale}`)
  const tokens = tokensOf(words)
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
export function localeIn(locales: TemplateBody['locales'], wanted: string): string {
  const [language = ''] = wanted.split('-')
  return [wanted, language].find((locale) => Object.hasOwn(locales, locale)) ?? lastLocale
}

/** Each text is parsed once while its template exists: a thousand users may receive it. */
const known = new WeakMap<TemplateText, TokensOfText>()

interface TokensOfText {
  readonly subject: MustacheTokens
  readonly text: MustacheTokens
  readonly html: MustacheTokens | undefined
}

function tokensOf(words: TemplateText): TokensOfText {
  const before = known.get(words)
  if (before) return before
  const tokens = {
    subject: parsed(words.subject),
    text: parsed(words.text),
    html: words.html === undefined ? undefined : parsed(words.html),
  }
  known.set(words, tokens)
  return tokens
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

/** By code points, so that none is cut in half. */
function shortened(subject: string): string {
  if (subject.length <= subjectCharactersMax) return subject
  const characters = [...subject]
  if (characters.length <= subjectCharactersMax) return subject
  return `${characters.slice(0, subjectCharactersMax - 1).join('')}…`
}
