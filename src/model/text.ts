import { z } from 'zod'

/** Bytes of a well-formed text in UTF-8. */
export function utf8BytesOf(text: string): number {
  let bytes = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0x80) continue
    // Each half of a pair counts two of its four bytes.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2
  }
  return bytes
}

/**
 * A name that users give and read: 1 to `charactersMax` characters (code points) that are visible or, except at both
 * ends, spaces of any kind. Two names that look alike may still differ; code that must treat such names as equal
 * compares their folded forms.
 */
export function printable(charactersMax: number) {
  return (
    z
      .string()
      .min(1)
      // A character is at most two units: this avoids counting the characters of a megabyte.
      .max(2 * charactersMax, { abort: true })
      .refine((text) => [...text].length <= charactersMax, `must be at most ${charactersMax} characters`)
      // Control, format, private use, unassigned, lone surrogates, line and paragraph breaks.
      .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, 'must consist of printable characters')
      .regex(/^(?!\p{Z})(?:.*[^\p{Z}])?$/u, 'must not begin or end with a space')
  )
}

/** A text whose result is its normal form. `normalOf` returns undefined for an invalid text. */
export function normalised(normalOf: (text: string) => string | undefined, message: string, schema = z.string()) {
  return schema.refine((text) => normalOf(text) !== undefined, message).overwrite((text) => normalOf(text) ?? text)
}
