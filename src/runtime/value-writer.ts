/**
 * Writes a stored value piece by piece, so that it need not be built first: the same to the byte as what the journal's
 * `pack` makes of the whole.
 */
export interface ValueWriter {
  /** As many values follow, each written in turn. */
  array(length: number): void
  number(value: number): void
  text(text: string): void
  null(): void
  /** Anything else, and whatever there are few of. */
  any(value: unknown): void
  /** The entries of an object: a name and a value for each, in turn. At most 15. */
  object(size: number): void
}
