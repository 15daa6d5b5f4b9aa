import { alarmLogDays, alarmLogIndex, alarmLogRowsMax, alarmLogTime } from '#actors/device/alarm-log'
import { directoryAddress } from '#actors/directory/commands'
import { idempotencyAddressOf, idempotencyIndex, idOfExpiry, isPastExpiry } from '#actors/idempotency/state'
import { tenantAddress } from '#actors/tenant/commands'
import { defaultTenant } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { type Listing, pagesIn } from '#runtime/storage'
import type { System } from '#runtime/system'

/** A key is valid for 24 hours and removed within an hour and this interval after. Expired keys are never returned. */
export const expireKeysEveryMs = 10 * 60_000
/** Each costs a read and a record: together less than a millisecond. */
const expiredAtATime = 64

export const expireAlarmLogEveryMs = 60 * 60_000
const rowsAtATime = 512

export interface ExpiryParts {
  readonly system: System<Entry>
  readonly listing: Listing
  /** Called with an error; the removal is retried. */
  readonly failed: (error: unknown) => void
}

/** Removes what is too old from each tenant, regularly. */
export class Expiry {
  readonly #parts: ExpiryParts
  readonly #everyMs: number
  readonly #expireOf: ExpireOf
  #cancel: (() => void) | undefined
  #isStopped = false

  constructor(parts: ExpiryParts, everyMs: number, expireOf: ExpireOf) {
    this.#parts = parts
    this.#everyMs = everyMs
    this.#expireOf = expireOf
  }

  /** Call after the store was read. */
  open(): void {
    if (this.#isStopped) return
    const { system, failed } = this.#parts
    this.#cancel = system.world.after(this.#everyMs, () => {
      void this.#expireAll()
        .catch(failed)
        .then(() => this.open())
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  async #expireAll(): Promise<void> {
    const { tenants } = this.#parts.system.peek(directoryAddress)
    for (const tenant of new Set([defaultTenant, ...tenants.keys()])) {
      if (this.#isStopped) return
      await this.#expireOf(this.#parts, tenant, () => this.#isStopped)
    }
  }
}

type ExpireOf = (parts: ExpiryParts, tenant: string, isStopped: () => boolean) => Promise<void>

/** Removes expired idempotency keys and their stored responses. */
export async function expireKeys(
  { system, listing }: ExpiryParts,
  tenant: string,
  isStopped: () => boolean,
): Promise<void> {
  const now = system.world.now()
  const expire = (id: string) => system.ask(idempotencyAddressOf(tenant, id), { type: 'expire' }, 0)
  for await (const entries of pagesIn(listing.entries(idempotencyIndex, tenant), expiredAtATime)) {
    const past = entries.filter((entry) => isPastExpiry(entry, now))
    await Promise.all(past.map((entry) => expire(idOfExpiry(entry))))
    if (past.length < entries.length || isStopped()) break
  }
}

/** Removes what is too old or too much from the history of alarms. It counts the rows, of which there are few. */
export async function expireAlarmLog(
  { system, listing }: ExpiryParts,
  tenant: string,
  isStopped: () => boolean,
  rowsMax = alarmLogRowsMax,
): Promise<void> {
  const oldest = system.world.now() - alarmLogDays * 86_400_000
  let count = 0
  for await (const entries of pagesIn(listing.entries(alarmLogIndex, tenant), rowsAtATime)) {
    const past = entries.filter((entry) => ++count > rowsMax || alarmLogTime(entry) < oldest)
    if (past.length > 0) await system.ask(tenantAddress(tenant), { type: 'drop_alarm_log', entries: past }, 0)
    if (isStopped()) break
  }
}
