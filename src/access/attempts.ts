import { BoundedMap } from '#access/bounded-map'
import { Problem } from '#model/problem'

/** The length of a window, which begins with a failure. Contract 2, Rate limits. */
const attemptsWindowMs = 60_000

/** The number of failed attempts in one window after which the next attempt is refused. */
const attemptsMax = { accountAndAddress: 10, address: 60, account: 100 } as const
type Bound = keyof typeof attemptsMax

/** The largest number of windows of each of the three kinds. Beyond it, a new window evicts the oldest. */
const windowsMax = 65_536
/** Only this much of a name is stored, because a client may send any text as a name. */
const accountCharactersMax = 256

export interface AttemptsParts {
  /** Unix ms. */
  now(): number
  readonly isOn: boolean
}

interface Window {
  readonly since: number
  failures: number
}

/**
 * Slows down password guessing. Only failures count, so sign-ins with the right password are not limited. The owner of
 * an account is not locked out by fewer than a hundred failures from other addresses.
 */
export class Attempts {
  readonly #parts: AttemptsParts
  readonly #windows: Readonly<Record<Bound, BoundedMap<string, Window>>> = {
    accountAndAddress: new BoundedMap(windowsMax),
    address: new BoundedMap(windowsMax),
    account: new BoundedMap(windowsMax),
  }

  constructor(parts: AttemptsParts) {
    this.#parts = parts
  }

  /**
   * Call before work that is expensive or reveals something. `account`: the user, as typed or by id.
   *
   * @throws Problem `too_many_requests` with the time to wait
   */
  check(address: string, account?: string): void {
    const waitMs = this.#waitMs(address, account)
    if (waitMs === 0) return
    const headers = { 'Retry-After': String(Math.ceil(waitMs / 1000)) }
    throw new Problem('too_many_requests', 'too many attempts', { headers })
  }

  /** Whether `check` would throw. */
  isLimited(address: string, account?: string): boolean {
    return this.#waitMs(address, account) > 0
  }

  #waitMs(address: string, account: string | undefined): number {
    if (!this.#parts.isOn) return 0
    const now = this.#parts.now()
    let waitMs = 0
    for (const [bound, key] of keysOf(address, account)) {
      const window = this.#current(bound, key, now)
      if (window && window.failures >= attemptsMax[bound]) {
        waitMs = Math.max(waitMs, window.since + attemptsWindowMs - now)
      }
    }
    return waitMs
  }

  /** Counts one failure for the client address, and one for each of the accounts. */
  recordFailure(address: string, ...accounts: readonly string[]): void {
    const group = addressGroupOf(address)
    this.#count([['address', group], ...accounts.flatMap((account) => accountKeysOf(group, account))])
  }

  /** Counts a failure for these accounts only. The typed text also names another account, whose password was right. */
  recordAccountFailure(address: string, ...accounts: readonly string[]): void {
    const group = addressGroupOf(address)
    this.#count(accounts.flatMap((account) => accountKeysOf(group, account)))
  }

  #count(keys: readonly (readonly [Bound, string])[]): void {
    if (!this.#parts.isOn) return
    const now = this.#parts.now()
    for (const [bound, key] of keys) {
      const window = this.#current(bound, key, now)
      if (window) window.failures++
      else this.#begin(bound, key, now)
    }
  }

  /** Ended windows are removed when the next one begins. */
  #begin(bound: Bound, key: string, now: number): void {
    const windows = this.#windows[bound]
    for (let { oldest } = windows; oldest !== undefined; { oldest } = windows) {
      if (isCurrent(windows.get(oldest), now)) break
      windows.delete(oldest)
    }
    windows.set(key, { since: now, failures: 1 })
  }

  /** The number of windows. For tests that check the bound. */
  get sizes(): Readonly<Record<Bound, number>> {
    const { accountAndAddress, address, account } = this.#windows
    return { accountAndAddress: accountAndAddress.size, address: address.size, account: account.size }
  }

  /** The window also ends when the clock is set back, so that no client waits because of a wrong time. */
  #current(bound: Bound, key: string, now: number): Window | undefined {
    const window = this.#windows[bound].get(key)
    if (isCurrent(window, now)) return window
    this.#windows[bound].delete(key)
    return undefined
  }
}

function isCurrent(window: Window | undefined, now: number): boolean {
  const age = window ? now - window.since : -1
  return age >= 0 && age < attemptsWindowMs
}

function keysOf(address: string, account: string | undefined): readonly (readonly [Bound, string])[] {
  const group = addressGroupOf(address)
  return [['address', group], ...(account === undefined ? [] : accountKeysOf(group, account))]
}

function accountKeysOf(group: string, account: string): readonly (readonly [Bound, string])[] {
  const name = account.slice(0, accountCharactersMax)
  // The first space ends the group, so no two pairs of group and name have the same key.
  return [
    ['accountAndAddress', `${group.replaceAll(' ', '_')} ${name}`],
    ['account', name],
  ]
}

/** No client address is longer than this, but a proxy may pass on any text. */
const addressCharactersMax = 64

/**
 * The unit by which attempts are counted: for an IPv6 address its /64, because one customer can use all addresses in
 * such a network; for an IPv4-mapped address the IPv4 address; for any other text its first 64 characters, in lower
 * case.
 */
export function addressGroupOf(address: string): string {
  const text = address.slice(0, addressCharactersMax).toLowerCase()
  if (!/^[0-9a-f:.]*$/.test(text) || !text.includes(':')) return text
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(text)
  if (mapped?.[1] !== undefined) return mapped[1]
  const [head = '', tail] = text.split('::')
  const before = groupsOf(head)
  const after = tail === undefined ? [] : groupsOf(tail)
  const zeros = Array.from({ length: Math.max(8 - before.length - after.length, 0) }, () => '0')
  const all = tail === undefined ? before : [...before, ...zeros, ...after]
  return `${all.slice(0, 4).map(withoutZeros).join(':')}::/64`
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':')
}

function withoutZeros(group: string): string {
  return group.replace(/^0+(?=.)/, '')
}
