import type { Writable } from 'node:stream'
import type { askPassword } from '#cli/password'
import type { TemporaryFiles } from '#cli/temporary-files'

export interface Streams {
  /** Only the result, because it may be piped. */
  readonly out: Writable
  /** Standard error, for notes about the result. */
  readonly notes: Writable
}

/** Prints results: tables and sentences, or with `--json` the answers of the server. */
export class Printer {
  readonly #streams: Streams
  readonly #isJson: boolean

  constructor(streams: Streams, isJson: boolean) {
    this.#streams = streams
    this.#isJson = isJson
  }

  /** For rows that are printed as they arrive. */
  get out(): Writable {
    return this.#streams.out
  }

  list(columns: readonly Column[], rows: readonly Readonly<Record<string, unknown>>[]): void {
    if (this.#isJson) this.#json(rows)
    else this.#streams.out.write(tableOf(columns, rows))
  }

  /**
   * Prints `whole` as JSON with `--json`. Otherwise prints `short` as JSON, which lacks the fields that the server
   * would not accept in a request.
   */
  document(whole: unknown, short: unknown): void {
    this.#json(this.#isJson ? whole : short)
  }

  /** Prints a text, or the whole result as JSON. */
  text(text: string, whole: unknown): void {
    if (this.#isJson) this.#json(whole)
    else this.#streams.out.write(text)
  }

  /** Prints a created secret alone on a line, and a note about it. */
  secret(answer: unknown, text: string, note: string): void {
    if (this.#isJson) this.#json(answer)
    else this.#streams.out.write(`${text}\n`)
    this.#note(note)
  }

  /** Prints a note. `answer`: the changed object, if it still exists. */
  done(note: string, answer?: unknown): void {
    if (this.#isJson && answer !== undefined) this.#json(answer)
    this.#note(note)
  }

  #json(value: unknown): void {
    this.#streams.out.write(`${JSON.stringify(value, null, 2)}\n`)
  }

  #note(text: string): void {
    if (!this.#isJson) this.#streams.notes.write(`${text}\n`)
  }
}

export interface Terminal extends Streams {
  readonly input: Parameters<typeof askPassword>[1]['input']
  readonly out: Streams['out'] & { readonly isTTY?: boolean }
  /** The temporary files of the command, which are also removed after a signal. */
  readonly temporaryFiles: TemporaryFiles
}

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
