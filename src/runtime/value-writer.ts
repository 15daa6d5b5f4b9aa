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
  /** Entries follow, a name and a value for each. At most 15. */
  object(size: number): void
}
