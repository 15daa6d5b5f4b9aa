import type { World } from '#runtime/world'

/** By chance, from 0 to below 1. */
export function fractionOf(world: World): number {
  return Buffer.from(world.random(4)).readUInt32BE(0) / 2 ** 32
}
