import { Problem } from '#model/problem'

/**
 * A row of a CSV file, and the line on which it begins, from 1. `fields` undefined: the quotation marks of the row do
 * not match.
 */
export interface CsvRow {
  readonly line: number
  readonly fields: readonly string[] | undefined
}

/** Small pieces are collected up to this size, because an incomplete row is parsed again with each piece. */
const stepCharacters = 16_384

/** Reads CSV as it arrives. RFC 4180; a row may also end with a line feed alone. */
export class CsvReader {
  readonly #rowCharactersMax: number
  #text = ''
  #at = 0
  /**
   * The index of the next quotation mark, or the length of the text. It is stored, so that the rows before the mark do
   * not search for it again.
   */
  #quoteAt = -1
  /** The length of an incomplete row at the beginning of the text, which was parsed once without success. */
  #read = 0
  #line = 1
  #isEnded = false

  constructor(rowCharactersMax: number) {
    this.#rowCharactersMax = rowCharactersMax
  }

  /**
   * Yields complete rows, once enough text was collected. Yields undefined for an empty line, so that the caller may
   * pause there too.
   * @throws Problem `bad_request` for a row that is too long
   */
  *push(text: string): Generator<CsvRow | undefined> {
    this.#text += text
    if (this.#text.length - this.#read >= stepCharacters) yield* this.#rows()
  }

  *end(): Generator<CsvRow | undefined> {
    this.#isEnded = true
    yield* this.#rows()
  }

  *#rows(): Generator<CsvRow | undefined> {
    this.#quoteAt = -1
    for (;;) {
      const begin = this.#at
      const fields = this.#row()
      if (fields === 'incomplete') {
        this.#at = begin
        break
      }
      // Without the line feed.
      this.#checkLength(this.#at - 1 - begin)
      const row = { line: this.#line, fields }
      this.#line += linesIn(this.#text, begin, this.#at)
      yield fields?.length === 1 && fields[0] === '' ? undefined : row
    }
    this.#text = this.#text.slice(this.#at)
    this.#at = 0
    this.#read = this.#text.length
    this.#checkLength(this.#read)
  }

  #checkLength(characters: number): void {
    if (characters <= this.#rowCharactersMax) return
    throw new Problem('bad_request', `the row on line ${this.#line} has more than ${this.#rowCharactersMax} characters`)
  }

  #row(): string[] | undefined | 'incomplete' {
    const text = this.#text
    if (this.#at >= text.length) return 'incomplete'
    const end = text.indexOf('\n', this.#at)
    if (end < 0 && !this.#isEnded) return 'incomplete'
    if (this.#quoteAt < this.#at) {
      const quote = text.indexOf('"', this.#at)
      this.#quoteAt = quote < 0 ? text.length : quote
    }
    const to = end < 0 ? text.length : end
    if (this.#quoteAt < to) return this.#quotedRow()
    const line = text.slice(this.#at, text[to - 1] === '\r' ? Math.max(this.#at, to - 1) : to)
    this.#at = to + 1
    return line.split(',')
  }

  #quotedRow(): string[] | undefined | 'incomplete' {
    const text = this.#text
    const fields: string[] = []
    for (;;) {
      const from = this.#at
      let to: number
      if (text[from] === '"') {
        to = this.#closingQuote(from + 1)
        if (to < 0) return this.#isEnded ? this.#unreadable() : 'incomplete'
        fields.push(text.slice(from + 1, to).replaceAll('""', '"'))
        to++
      } else {
        to = from
        while (to < text.length && text[to] !== ',' && text[to] !== '\n' && text[to] !== '"') to++
        fields.push(text.slice(from, text[to] === '\n' && text[to - 1] === '\r' ? to - 1 : to))
      }
      if (text[to] === '\r' && text[to + 1] === '\n') to++
      if (to >= text.length && !this.#isEnded) return 'incomplete'
      this.#at = to + 1
      if (to >= text.length || text[to] === '\n') return fields
      if (text[to] !== ',') return this.#unreadable()
    }
  }

  #closingQuote(from: number): number {
    for (let at = from; ; at += 2) {
      at = this.#text.indexOf('"', at)
      if (at < 0 || this.#text[at + 1] !== '"') return at
    }
  }

  /** Moves to the next line. */
  #unreadable(): undefined {
    const end = this.#text.indexOf('\n', this.#at)
    this.#at = end < 0 ? this.#text.length : end + 1
  }
}

function linesIn(text: string, from: number, to: number): number {
  let lines = 0
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) lines++
  return lines
}
