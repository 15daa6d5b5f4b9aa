import { z } from 'zod'
import { type Authored, authorshipFields } from '#model/authorship'
import { formatCrn, ResourceIdentifier } from '#model/crn'
import { ShortName } from '#model/identifier'
import { entriesWithin, jsonWithin } from '#model/json-value'
import { lastLocale, subjectCharactersMax } from '#model/mail-text'
import { parseMustache } from '#model/mustache'
import { Locale } from '#model/subscription'
import { utf8BytesOf } from '#model/text'

/** Templates of mails, by locale. Contract 5.5. */

/** Maximum number of templates of a tenant. */
export const templatesMax = 1_000

export const templateLocalesMax = 64

/** Maximum size of one text. */
export const templateTextBytesMax = 32_768

/** Maximum size of a template as JSON: four texts of full size. */
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

export const TemplateBody = jsonWithin(z.strictObject({ locales }), { depthMax: 4, bytesMax: templateBytesMax })
export type TemplateBody = { readonly locales: Readonly<Record<string, TemplateText>> }

export interface StoredTemplate extends Authored, TemplateBody {}

/** A template as the API returns it. */
export const TemplateEntry = z.object({
  name: ShortName,
  locales: z.record(Locale, z.object({ subject: z.string(), text: z.string(), html: z.string().optional() })),
  resourceIdentifier: ResourceIdentifier,
  ...authorshipFields,
})
export type TemplateEntry = z.infer<typeof TemplateEntry>

export function templateEntryOf(tenant: string, name: string, stored: StoredTemplate): TemplateEntry {
  return { name, ...stored, resourceIdentifier: formatCrn({ type: 'template', tenant, name }) }
}

function checkMustache(text: string, context: z.RefinementCtx): void {
  const parsed = parseMustache(text)
  if ('message' in parsed) context.addIssue({ code: 'custom', message: `line ${parsed.line}: ${parsed.message}` })
}
