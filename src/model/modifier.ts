/** Modifiers as bits: the stored form, and one object for all properties with the same flags. §2.2 */

/** The flags of a modifier, and the bit of each in the stored form. Stored bits depend on it: never change a number. */
export const modifierFlags = {
  isReadOnly: 1,
  isActionable: 2,
  isVolatile: 4,
  isError: 8,
  isArray: 16,
} as const

/** Each flag of `Modifier` in `#model/property`. */
type Flags = Readonly<Record<keyof typeof modifierFlags, boolean>>

/** The flags as bits; missing ones are 0. The inverse of `modifierOf`. */
export function modifierBits(modifier: { readonly [flag in keyof Flags]?: boolean | undefined }): number {
  return (
    (modifier.isReadOnly ? modifierFlags.isReadOnly : 0) |
    (modifier.isActionable ? modifierFlags.isActionable : 0) |
    (modifier.isVolatile ? modifierFlags.isVolatile : 0) |
    (modifier.isError ? modifierFlags.isError : 0) |
    (modifier.isArray ? modifierFlags.isArray : 0)
  )
}

/** All 32 combinations, created once and frozen: every property of every answer contains one. */
const modifiers: readonly Flags[] = Array.from({ length: 32 }, (_, bits) =>
  Object.freeze({
    isReadOnly: (bits & modifierFlags.isReadOnly) !== 0,
    isActionable: (bits & modifierFlags.isActionable) !== 0,
    isVolatile: (bits & modifierFlags.isVolatile) !== 0,
    isError: (bits & modifierFlags.isError) !== 0,
    isArray: (bits & modifierFlags.isArray) !== 0,
  }),
)

/** The modifier of these bits, frozen and shared; unknown bits are ignored. The inverse of `modifierBits`. */
export function modifierOf(bits: number): Flags {
  return modifiers[bits & 31] as Flags
}
