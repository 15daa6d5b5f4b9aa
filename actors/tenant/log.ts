/**
 * Logs of a tenant: entries of an index, newest first. An entry is `<time><number>/<text>`. The time and the number are
 * subtracted from the maximum, so that later entries sort first. The index has no values, so the text is in the entry.
 */

/** Contract 12. Entries older than `logDays`, and entries beyond `logEntriesMax`, are removed regularly. */
export const logDays = 90
export const logEntriesMax = 1_000_000

/** `at`: Unix ms. `number`: higher for later entries of the same time. */
export function logEntry(at: number, number: number, text: string): string {
  return `${backwards(at)}${backwards(number)}/${text}`
}

/** The time of an entry, Unix ms. */
export function timeOfEntry(entry: string): number {
  return Number.MAX_SAFE_INTEGER - Number.parseInt(entry.slice(0, digits), 16)
}

export function textOfEntry(entry: string): string {
  return entry.slice(2 * digits + 1)
}

/** A place in the index after all entries of this time and of later times, and before all older entries. */
export function placeOfTime(at: number): string {
  return `${backwards(at)}g`
}

/** The beginning of an entry, which no other entry has. */
export function placeOfEntry(entry: string): string {
  return entry.slice(0, 2 * digits)
}

/** A place after the entry with this beginning, and before all entries that follow it. */
export function placeAfter(place: string): string {
  return `${place}0`
}

const digits = 14

function backwards(number: number): string {
  return (Number.MAX_SAFE_INTEGER - number).toString(16).padStart(digits, '0')
}

/** The log of changes that users and API keys made or tried. Rows are stored as JSON text. Contract 12, Audit. */
export const auditIndex = 'audit'

/** A row of the log, as the API returns it. */
export interface AuditRow {
  /** Unix ms. */
  readonly at: number
  /** CRN of the user or key. */
  readonly user: string
  readonly name: string
  readonly address: string
  readonly method: string
  /** The path of the request, without its query. */
  readonly path: string
  readonly resourceIdentifier?: string
  readonly status: number
}
