/**
 * Reads a stored value piece by piece, in the order of its `ValueWriter`, so that only kept objects are created.
 *
 * Any other form ends the reading, and the value is unpacked as a whole instead. So a reader never sees a part of a
 * value, and need not handle other forms.
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
