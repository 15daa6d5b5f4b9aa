import type { World } from '#runtime/world'

/** How long is worked before the loop is given back. */
const sliceMs = 1

/** Calls the step again and again until it answers false, and gives the loop back in between. */
export function inSlices(world: World, step: () => boolean): void {
  world.soon(() => {
    const began = world.monotonic()
    while (step()) {
      if (world.monotonic() - began < sliceMs) continue
      inSlices(world, step)
      return
    }
  })
}
