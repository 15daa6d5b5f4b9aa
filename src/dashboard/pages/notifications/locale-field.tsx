import { SuggestField } from '#dashboard/parts/fields'

const likely = ['en', 'de', 'de-CH', 'es', 'fr', 'fr-CH', 'it', 'ja', 'nl', 'pl', 'pt', 'zh']

/** A language, optionally with a region. §2.1 */
export function LocaleField({ value, onInput }: { readonly value: string; readonly onInput: (value: string) => void }) {
  return (
    <SuggestField
      label="Locale"
      hint="The language of the mails, or English if a template does not have it."
      value={value}
      onInput={onInput}
      suggestions={likely.map((each) => ({ value: each }))}
      maxLength={5}
      placeholder="de-CH"
      problem={value === '' ? undefined : localeProblem(value)}
    />
  )
}

/** Undefined for a valid locale. */
export function localeProblem(locale: string): string | undefined {
  return /^[a-z]{2}(-[A-Z]{2})?$/.test(locale) ? undefined : 'A language such as de, optionally with a region: de-CH'
}

/** The language of the browser. */
export function ownLocale(): string {
  const [first = ''] = navigator.language.split('-', 2)
  return [navigator.language, first].find((each) => localeProblem(each) === undefined) ?? 'en'
}
