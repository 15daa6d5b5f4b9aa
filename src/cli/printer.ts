import type { Writable } from 'node:stream'
import { type Column, tableOf } from '#cli/table'

export interface Streams {
  /** What was asked for, and nothing else: it may be piped. */
  readonly out: Writable
  /** What is said about it. */
  readonly notes: Writable
}

/** Says what came of it: tables and sentences for people, or for machines what the server answered. */
export class Printer {
  readonly #streams: Streams
  readonly #isJson: boolean

  constructor(streams: Streams, isJson: boolean) {
    this.#streams = streams
    this.#isJson = isJson
  }

  list(columns: readonly Column[], rows: readonly Readonly<Record<string, unknown>>[]): void {
    if (this.#isJson) this.#json(rows)
    else this.#streams.out.write(tableOf(columns, rows))
  }

  /** Something to be kept: as JSON in either case. `short`: without what can't be given back. */
  document(whole: unknown, short: unknown): void {
    this.#json(this.#isJson ? whole : short)
  }

  /** What was found out: in words for people, whole for programs. */
  text(text: string, whole: unknown): void {
    if (this.#isJson) this.#json(whole)
    else this.#streams.out.write(text)
  }

  /** Something to be handed on, of which people need one text, alone on its line. */
  made(answer: unknown, text: string, note: string): void {
    if (this.#isJson) this.#json(answer)
    else this.#streams.out.write(`${text}\n`)
    this.#note(note)
  }

  /** Nothing to hand on. `answer`: what it is now, where it still is. */
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
