import { RecentMap } from '#access/bounded-map'
import { type Caller, principalKey } from '#model/caller'
import { Problem } from '#model/problem'
import type { World } from '#runtime/world'

export interface ByteAllowanceOptions {
  /** Ms of a monotonic clock. */
  readonly now: () => number
  /** The use of the bytes, named in the error text. */
  readonly of: string
  readonly bytesMax: number
  /** The time after which an owner may add `bytesMax` again. */
  readonly perMs: number
}

/** The most users and tenants that are remembered. Any other owner has its whole allowance. */
const ownersMax = 65_536
/** The allowance of a tenant, in allowances of a user. */
const usersOfTenant = 4

interface Bucket {
  readonly max: number
  leftBytes: number
  at: number
}

/**
 * Limits the bytes that each user may add to shared storage: `bytesMax` at once, and the same again evenly over `perMs`
 * (a token bucket). A tenant may add as much as `usersOfTenant` users. A call passes while any bytes are left, even if
 * it adds more. The excess is a debt, so a large record is not refused for ever. A restart resets all allowances.
 * Callers without a session (authentication is off, devices) cannot be distinguished, and have no limit.
 */
export class ByteAllowance {
  readonly #options: ByteAllowanceOptions
  /** A bucket that was not used for `perMs` is full, except for a debt, so it can be forgotten. */
  readonly #buckets: RecentMap<string, Bucket>

  constructor(options: ByteAllowanceOptions) {
    this.#options = options
    this.#buckets = new RecentMap({ generationMs: options.perMs, sizeMax: ownersMax })
  }

  /** Undefined while bytes are left; otherwise Problem `too_many_requests` with the time to wait. */
  refusal(caller: Caller): Problem | undefined {
    const { of, bytesMax, perMs } = this.#options
    const empty = this.#bucketsOf(caller).find(({ leftBytes }) => leftBytes <= 0)
    if (!empty) return undefined
    const { leftBytes, max } = empty
    const owner = max === bytesMax ? 'user' : 'tenant'
    const seconds = Math.floor((-leftBytes * perMs) / max / 1_000) + 1
    return new Problem('too_many_requests', `at most ${max} bytes of ${of} of one ${owner} in ${perMs / 1_000} s`, {
      headers: { 'Retry-After': String(seconds) },
    })
  }

  /** @throws Problem as `refusal` returns it; then the bytes are not counted */
  take(caller: Caller, bytes: number): void {
    const refusal = this.refusal(caller)
    if (refusal) throw refusal
    this.add(caller, bytes)
  }

  add(caller: Caller, bytes: number): void {
    for (const bucket of this.#bucketsOf(caller)) bucket.leftBytes -= bytes
  }

  /** The bucket of the user, then that of the tenant. */
  #bucketsOf(caller: Caller): readonly Bucket[] {
    if (!caller.session) return []
    const { bytesMax } = this.#options
    return [this.#filled(principalKey(caller), bytesMax), this.#filled(caller.tenant, usersOfTenant * bytesMax)]
  }

  #filled(key: string, max: number): Bucket {
    const now = this.#options.now()
    let bucket = this.#buckets.get(key, now)
    if (!bucket) {
      bucket = { max, leftBytes: max, at: now }
      this.#buckets.set(key, bucket, now)
    }
    bucket.leftBytes = Math.min(max, bucket.leftBytes + ((now - bucket.at) * max) / this.#options.perMs)
    bucket.at = now
    return bucket
  }
}

/** A user may fill this part of a tenant's retained stream at once, and all of it in an hour. */
const atOncePart = 1 / 8
const wholeMs = 3_600_000
/** The minimum, even for a shorter stream, whose clients have to read the full state often anyway. */
const bytesMin = 8 * 1024 * 1024

/**
 * Limits what users add to the event stream by changes whose events contain whole records (metadata, alarms, schemas).
 * More would evict events that other clients still need, so that each of them would have to read the full state again.
 */
export function streamShareOf(world: World, retainedBytesMax: number): ByteAllowance {
  const bytesMax = Math.max(bytesMin, retainedBytesMax * atOncePart)
  return new ByteAllowance({
    now: () => world.monotonic(),
    of: 'events',
    bytesMax,
    perMs: wholeMs * atOncePart,
  })
}
