import type { Writable } from 'node:stream'
import type { askPassword } from '#cli/password'
import { type Column, tableOf } from '#cli/table'
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
