/**
 * Reads a stored value piece by piece, in the order in which a `ValueWriter` wrote it, so that only what is kept is built.
 *
 * What stands there in any other form than a `ValueWriter` gives it ends the reading, and the value is unpacked as a
 * whole instead. So whoever reads never sees half of one, and need not know what else there may be.
 */
export interface ValueReader {
  /** How many values follow, each to be read in turn. */
  array(): number
  number(): number
  text(): string
  /** Whatever stands there. */
  any(): unknown
  /** How many entries of an object follow, a name and a value for each. */
  object(): number
  /** Passes this very text; false, and nothing is passed, where something else stands. */
  passText(text: string): boolean
}
