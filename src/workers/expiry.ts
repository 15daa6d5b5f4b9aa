import { alarmLogIndex } from '#actors/device/alarms'
import { directoryAddress } from '#actors/directory/state'
import { idempotencyAddressOf, idempotencyIndex, idOfExpiry, isPastExpiry } from '#actors/idempotency/idempotency'
import { tenantAddress } from '#actors/tenant/commands'
import { auditIndex, defaultTenant, logDays, logEntriesMax, timeOfEntry } from '#actors/tenant/state'
import { pagesIn } from '#runtime/storage'
import type { JobParts } from '#workers/stored-entries'

/**
 * An idempotency key is valid for 24 hours. It is removed at most an hour and this interval later. Expired keys are
 * never returned.
 */
export const expireKeysEveryMs = 10 * 60_000
/** Each removal costs a read and a record; this many take less than a millisecond. */
const expiredAtATime = 64

/**
 * Reading a million log entries takes a second or two. At full load, four million more are stored within this interval.
 */
export const expireLogsEveryMs = 10 * 60_000
const logs = [alarmLogIndex, auditIndex]
const entriesAtATime = 512

/** Regularly removes expired data from each tenant. */
export class Expiry {
  readonly #parts: JobParts
  readonly #everyMs: number
  readonly #expireOf: ExpireOf
  #cancel: (() => void) | undefined
  #isStopped = false

  constructor(parts: JobParts, everyMs: number, expireOf: ExpireOf) {
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

type ExpireOf = (parts: JobParts, tenant: string, isStopped: () => boolean) => Promise<void>

/** Removes expired idempotency keys and their stored responses. */
export async function expireKeys(
  { system, listing }: JobParts,
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

/** Removes the entries of a tenant's logs that are older than `logDays`, or that follow the newest `entriesMax`. */
export async function expireLogs(
  { system, listing }: JobParts,
  tenant: string,
  isStopped: () => boolean,
  entriesMax = logEntriesMax,
): Promise<void> {
  const oldest = system.world.now() - logDays * 86_400_000
  for (const index of logs) {
    let count = 0
    for await (const page of pagesIn(listing.entries(index, tenant), entriesAtATime)) {
      const entries = page.filter((entry) => ++count > entriesMax || timeOfEntry(entry) < oldest)
      const drop = { type: 'change_log', index, entries, isPresent: false } as const
      if (entries.length > 0) await system.ask(tenantAddress(tenant), drop, 0)
      if (isStopped()) return
    }
  }
}
