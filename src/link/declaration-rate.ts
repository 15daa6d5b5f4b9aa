import { BoundedMap } from '#access/bounded-map'
import type { World } from '#runtime/world'

/**
 * Shapes that a device may declare beyond those it has: at once all of its services four times over, so that a first boot
 * and updates of its firmware are never refused; then one a minute. Each is stored, for as long as retained entries name it.
 */
export const newShapesMax = 256
const newShapeEveryMs = 60_000
/** Devices that declared new shapes lately: a bound, not a promise. */
const devicesMax = 100_000

/** How many new shapes each device may still declare. */
export class DeclarationRate {
  readonly #world: World
  readonly #left = new BoundedMap<string, { readonly count: number; readonly at: number }>(devicesMax)

  constructor(world: World) {
    this.#world = world
  }

  /** Counts new shapes; false, and none is counted, when those are too many. */
  take(tenant: string, device: string, count: number): boolean {
    if (count === 0) return true
    const key = `${tenant}/${device}`
    const now = this.#world.monotonic()
    const before = this.#left.get(key)
    const left = before ? Math.min(newShapesMax, before.count + (now - before.at) / newShapeEveryMs) : newShapesMax
    if (count > left) return false
    this.#left.set(key, { count: left - count, at: now })
    return true
  }
}

/** The text of the refusal. */
export function tooManyShapes(device: string): string {
  return `${device} declared more than ${newShapesMax} services that it did not have; it may declare one more each minute`
}
