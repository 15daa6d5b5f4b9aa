import { z } from 'zod'

/**
 * A name that people give and read: 1 to so many characters (code points) that can be seen, single spaces of any kind
 * only between them. Two names that look alike may still differ; who needs them to be one compares folded forms.
 */
export function printable(charactersMax: number) {
  return (
    z
      .string()
      .min(1)
      // A character is at most two units; counting them needs not look at a megabyte first.
      .max(2 * charactersMax, { abort: true })
      .refine((text) => [...text].length <= charactersMax, `must be at most ${charactersMax} characters`)
      // Control, format, private use, unassigned, lone surrogates, line and paragraph breaks.
      .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, 'must consist of printable characters')
      .regex(/^(?!\p{Z})(?:.*[^\p{Z}])?$/u, 'must not begin or end with a space')
  )
}
