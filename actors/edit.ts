import type { Turn } from '#runtime/actor'

/**
 * The name of an edit, drawn at random. Who settles since when an edit holds names it: meanwhile there may have been
 * another, which is not settled by that.
 */
export function newEdit(turn: Turn): number {
  return Buffer.from(turn.random(6)).readUIntBE(0, 6)
}
