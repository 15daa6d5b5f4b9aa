import { z } from 'zod'
import { formatCrn, ResourceIdentifier } from '#model/crn'
import { ShortName, Timestamp } from '#model/identifier'
import { Locale } from '#model/subscription'

/** The words of mails, in the languages of those who read them. Contract 5.5. */

/** Templates of a tenant. */
export const templatesMax = 1_000

/** Locales of one. */
export const templateLocalesMax = 64

/** Characters (UTF-16 units) of a subject, and of a text or its HTML, as they are written. */
export const subjectCharactersMax = 256
export const textCharactersMax = 65_536

/** Mustache. */
export const TemplateText = z.strictObject({
  subject: z.string().min(1).max(subjectCharactersMax),
  text: z.string().min(1).max(textCharactersMax),
  html: z.string().min(1).max(textCharactersMax).optional(),
})
export type TemplateText = Readonly<z.infer<typeof TemplateText>>

/** By locale; `en` is there, for everybody whose own is not. */
export const TemplateBody = z.strictObject({
  locales: z
    .record(Locale, TemplateText)
    .refine((locales) => Object.hasOwn(locales, 'en'), 'must have en')
    .refine(
      (locales) => Object.keys(locales).length <= templateLocalesMax,
      `must have at most ${templateLocalesMax} locales`,
    ),
})
export type TemplateBody = Readonly<z.infer<typeof TemplateBody>>

/** A template at rest. Users are named by their resource names; times are Unix ms. */
export interface StoredTemplate extends TemplateBody {
  readonly createdBy: string
  readonly createdAt: number
  readonly updatedBy: string
  readonly updatedAt: number
}

/** A template, as shown. */
export const TemplateEntry = z.object({
  name: ShortName,
  ...TemplateBody.shape,
  resourceIdentifier: ResourceIdentifier,
  createdBy: z.string(),
  createdAt: Timestamp,
  updatedBy: z.string(),
  updatedAt: Timestamp,
})
export type TemplateEntry = Readonly<z.infer<typeof TemplateEntry>>

export function templateEntryOf(tenant: string, name: string, stored: StoredTemplate): TemplateEntry {
  const { locales, createdBy, createdAt, updatedBy, updatedAt } = stored
  const resourceIdentifier = formatCrn({ type: 'template', tenant, name })
  return { name, locales, resourceIdentifier, createdBy, createdAt, updatedBy, updatedAt }
}

/** Which of them somebody gets: his locale, its language, `en`. Contract 5.5. */
export function localeIn(locales: TemplateBody['locales'], wanted: string): string {
  return [wanted, wanted.slice(0, 2)].find((locale) => Object.hasOwn(locales, locale)) ?? 'en'
}
