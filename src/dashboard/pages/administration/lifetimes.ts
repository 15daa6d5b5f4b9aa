import type { Option } from '#dashboard/components/fields'

/** Lifetimes of codes and keys, in seconds; empty: the default of the server. Contract 2. */

const dayS = 86_400

export const codeLifetimes: readonly Option[] = [
  { value: '3600', label: 'an hour' },
  { value: `${dayS}`, label: 'a day' },
  { value: '', label: '7 days' },
  { value: `${30 * dayS}`, label: '30 days' },
]

export const keyLifetimes: readonly Option[] = [
  { value: '', label: 'until it is deleted' },
  { value: `${dayS}`, label: 'a day' },
  { value: `${30 * dayS}`, label: '30 days' },
  { value: `${365 * dayS}`, label: 'a year' },
  { value: `${10 * 365 * dayS}`, label: '10 years' },
]

/** `{expiresIn}` for a body, or an empty object. */
export function expiresIn(lifetime: string): { readonly expiresIn?: number } {
  return lifetime === '' ? {} : { expiresIn: Number(lifetime) }
}
