import type { Turn } from '#runtime/actor'

/** A random id for an edit. The command that settles an edit names it, so that it cannot settle a later edit. */
export function newEdit(turn: Turn): number {
  return Buffer.from(turn.random(6)).readUIntBE(0, 6)
}
