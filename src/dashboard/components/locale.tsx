import { TextField, type TextFieldProps } from '#dashboard/components/fields'

/** Languages, optionally with a region. §2.1 */

export const likelyLocales = ['en', 'de', 'de-CH', 'es', 'fr', 'fr-CH', 'it', 'ja', 'nl', 'pl', 'pt', 'zh']

export function isLocale(text: string): boolean {
  return /^[a-z]{2}(-[A-Z]{2})?$/.test(text)
}

/** A description of the fault; none for empty text. */
export function localeProblem(text: string): string | undefined {
  return text === '' || isLocale(text) ? undefined : 'Must be a language such as de, or with a region: de-CH.'
}

export function LocaleField(field: Pick<TextFieldProps, 'value' | 'onChange'>) {
  return (
    <TextField
      label="Locale"
      hint="The language of the mails, or English if a template does not have it."
      {...field}
      suggestions={likelyLocales.map((each) => ({ value: each }))}
      maxLength={5}
      placeholder="de-CH"
      problem={localeProblem(field.value)}
    />
  )
}

export function browserLocale(): string {
  const [language = ''] = navigator.language.split('-', 2)
  return [navigator.language, language].find(isLocale) ?? 'en'
}
