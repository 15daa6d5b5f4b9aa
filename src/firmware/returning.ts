import type { Waiting } from '#firmware/considered'
import { isOfTenant, tenantKey } from '#model/tenant-key'
import type { World } from '#runtime/world'

/**
 * Devices that were there when a process died, and have not come back yet. A run that was missed, a walk that was broken
 * off, and what waited for its turn go on before any of them can be back: whom that would pass over is considered when it
 * comes.
 */
export class Returning {
  readonly #world: World
  /** By tenant and device. */
  readonly #awaited = new Map<string, Waiting>()
  #isOpen = false
  #cancel: (() => void) | undefined

  constructor(world: World) {
    this.#world = world
  }

  /** Whether there is still time to come back. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** From now on, for so long, devices are given time to come back. */
  open(forMs: number): void {
    this.clear()
    this.#cancel?.()
    this.#isOpen = true
    this.#cancel = this.#world.after(forMs, () => this.#giveUp())
  }

  /** In place of what it was awaited for before. */
  wait(waiting: Waiting): void {
    this.take(waiting.tenant, waiting.device)?.release()
    this.#awaited.set(tenantKey(waiting.tenant, waiting.device), waiting)
  }

  /** It is back. Undefined: nothing waited for that. */
  take(tenant: string, device: string): Waiting | undefined {
    const key = tenantKey(tenant, device)
    const waiting = this.#awaited.get(key)
    this.#awaited.delete(key)
    return waiting
  }

  /** Of all tenants, or of one: nobody is awaited, and nobody is told. */
  clear(tenant = ''): void {
    for (const key of [...this.#awaited.keys()]) if (tenant === '' || isOfTenant(key, tenant)) this.#awaited.delete(key)
  }

  stop(): void {
    this.#isOpen = false
    this.#cancel?.()
    this.clear()
  }

  #giveUp(): void {
    this.#isOpen = false
    const all = [...this.#awaited.values()]
    this.#awaited.clear()
    for (const { release } of all) release()
  }
}
