import type { WaitingCandidate } from '#firmware/update-starter'
import { isOfTenant, tenantKey } from '#model/tenant'
import type { World } from '#runtime/world'

/**
 * Devices that were connected when the previous process died and have not reconnected yet. A missed schedule, an
 * interrupted project scan and waiting updates continue before the devices reconnect; devices that they would skip are
 * checked when they reconnect.
 */
export class ReconnectGrace {
  readonly #world: World
  /** By tenant and device. */
  readonly #awaited = new Map<string, WaitingCandidate>()
  #isOpen = false
  #cancel: (() => void) | undefined

  constructor(world: World) {
    this.#world = world
  }

  /** Whether devices still have time to reconnect. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Gives devices this long to reconnect, from now on. */
  open(forMs: number): void {
    this.clear()
    this.#cancel?.()
    this.#isOpen = true
    this.#cancel = this.#world.after(forMs, () => this.#giveUp())
  }

  /** Replaces an earlier candidate of the same device. */
  wait(waiting: WaitingCandidate): void {
    this.take(waiting.tenant, waiting.device)?.release()
    this.#awaited.set(tenantKey(waiting.tenant, waiting.device), waiting)
  }

  /** The device reconnected. Undefined: no candidate waited for it. */
  take(tenant: string, device: string): WaitingCandidate | undefined {
    const key = tenantKey(tenant, device)
    const waiting = this.#awaited.get(key)
    this.#awaited.delete(key)
    return waiting
  }

  /** Drops the candidates of all tenants, or of one, without calling their `release`. */
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
