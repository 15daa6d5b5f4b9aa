import { keyLifetimeMs } from '#actors/idempotency/state'

/**
 * `<hour>/<id>`: the keys that expire in each hour. Hours are counted from 1970 and have eight digits, so that they
 * sort as numbers.
 */
export const idempotencyIndex = 'idempotency'

const hourMs = 60 * 60 * 1000

/** `begunAt`: Unix ms. */
export function expiryEntry(begunAt: number, id: string): string {
  return `${hourOf(begunAt + keyLifetimeMs)}/${id}`
}

/** Reverses `expiryEntry`. */
export function idOfExpiry(entry: string): string {
  return entry.slice(entry.indexOf('/') + 1)
}

/** Whether the hour of expiry has passed. */
export function isPastExpiry(entry: string, now: number): boolean {
  return entry < hourOf(now)
}

function hourOf(at: number): string {
  return String(Math.floor(at / hourMs)).padStart(8, '0')
}
