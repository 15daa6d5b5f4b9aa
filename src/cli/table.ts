/** The heading of a column, and the field of its cells. */
export type Column = readonly [heading: string, field: string]

/** A table, padded with spaces, with a line break at the end. Control characters become `?`. */
export function tableOf(columns: readonly Column[], rows: readonly Readonly<Record<string, unknown>>[]): string {
  const lines = [
    columns.map(([heading]) => heading),
    ...rows.map((row) => columns.map(([, field]) => cellOf(field, row[field]))),
  ]
  const widths = columns.map((_, place) => Math.max(...lines.map((line) => line[place]?.length ?? 0)))
  const textOf = (line: readonly string[]) => line.map((cell, place) => cell.padEnd(widths[place] ?? 0)).join('  ')
  return lines.map((line) => `${textOf(line).trimEnd()}\n`).join('')
}

/** `at`, and fields whose names end in `At`, contain Unix milliseconds. */
function cellOf(field: string, value: unknown): string {
  if (value === undefined || value === null) return '-'
  if (Array.isArray(value)) return listText(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number' && /(^a|A)t$/.test(field)) return timeText(value)
  return String(value).replace(/\p{C}/gu, '?')
}

/** The items, separated by commas. Of a list of objects, only their number. */
function listText(items: readonly unknown[]): string {
  if (items.some((item) => typeof item === 'object')) return String(items.length)
  return items.length === 0 ? '-' : items.map((item) => cellOf('', item)).join(',')
}

/** To the second: `2026-09-21T13:46:40Z`. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}
