import type { IdentityOptions } from '#access/options'
import { deviceAddress, tokenRecord } from '#actors/device/device'
import { deviceTokenAddress } from '#actors/device-token/device-token'
import { directoryAddress } from '#actors/directory/state'
import { pagesIn } from '#runtime/storage'

export interface TenantRemovalParts extends Pick<IdentityOptions, 'world' | 'system' | 'listing' | 'sweep'> {
  /** Called when everything except the name is removed, before the name can be used again. */
  readonly swept: (tenant: string) => void
  readonly failed: (error: unknown, tenant: string) => void
}

/** The delay before a failed removal is tried again. */
const againAfterMs = 60_000
/** The number of devices whose tokens are looked up together. */
const devicesAtOnce = 128

/**
 * Removes the data of deleted tenants in the background, one tenant after the other: first its user names and the
 * tokens of its devices, then everything under its name, then the name itself. The removal may stop at any point. It
 * continues from the state of the store, because the tenant's row is removed last.
 */
export class TenantRemoval {
  readonly #parts: TenantRemovalParts
  readonly #waiting = new Set<string>()
  #isRunning = false
  #isStopped = false
  #cancelAgain: (() => void) | undefined

  constructor(parts: TenantRemovalParts) {
    this.#parts = parts
  }

  /** Continues all unfinished removals. Call after the store was read. */
  resume(): void {
    for (const { tenantIdentifier, state } of this.#parts.system.wake(directoryAddress).tenants.values()) {
      if (state === 'deleting') this.begin(tenantIdentifier)
    }
  }

  begin(tenant: string): void {
    this.#waiting.add(tenant)
    this.#run()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelAgain?.()
    this.#parts.sweep.stop()
  }

  #run(): void {
    const [tenant] = this.#waiting
    if (tenant === undefined || this.#isRunning || this.#isStopped) return
    this.#isRunning = true
    this.#waiting.delete(tenant)
    this.#remove(tenant).then(
      () => this.#continue(),
      (error) => {
        this.#waiting.add(tenant)
        this.#isRunning = false
        if (this.#isStopped) return
        this.#parts.failed(error, tenant)
        this.#cancelAgain?.()
        this.#cancelAgain = this.#parts.world.after(againAfterMs, () => this.#run())
      },
    )
  }

  #continue(): void {
    this.#isRunning = false
    this.#run()
  }

  async #remove(tenant: string): Promise<void> {
    const { system, sweep, swept } = this.#parts
    if (system.wake(directoryAddress).tenants.get(tenant)?.state !== 'deleting') return
    while (((await system.ask(directoryAddress, { type: 'forget_users', tenant })) as number) > 0);
    await this.#disownTokens(tenant)
    await sweep.run(tenant)
    swept(tenant)
    await system.ask(directoryAddress, { type: 'tenant_swept', tenant })
  }

  async #disownTokens(tenant: string): Promise<void> {
    const { world, system, listing } = this.#parts
    for await (const page of pagesIn(listing.actors('device', tenant), devicesAtOnce)) {
      for (const device of page) {
        const hash = system.recordOf(deviceAddress(tenant, device), tokenRecord)
        if (typeof hash === 'string') await system.ask(deviceTokenAddress(hash), { type: 'disown', tenant, device })
      }
      await new Promise<void>((resolve) => world.soon(resolve))
    }
  }
}
