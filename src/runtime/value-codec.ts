/**
 * Reads a stored value piece by piece, in the order in which a `ValueWriter` wrote it. Only objects that are kept are
 * created.
 *
 * If the bytes have another form, the method throws, and `Journal.readRecord` returns undefined. Code that uses a reader
 * need not handle this.
 */
export interface ValueReader {
  /** The number of values that follow. */
  array(): number
  number(): number
  text(): string
  /** A value of any type. */
  any(): unknown
  /** The number of entries that follow, a name and a value for each. */
  object(): number
  /** Skips exactly this text. Returns false, and skips nothing, if there is another value. */
  passText(text: string): boolean
}

/**
 * Writes a stored value piece by piece, without creating it first. The bytes are the same as those of `pack` in the
 * journal.
 */
export interface ValueWriter {
  /** This number of values follows. */
  array(length: number): void
  number(value: number): void
  text(text: string): void
  null(): void
  /** A value of any other type, or one that is rare. */
  any(value: unknown): void
  /** `size` entries follow, a name and a value for each. At most 15. */
  object(size: number): void
}
