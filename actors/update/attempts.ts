import type { FoundUpdate } from '#actors/update/commands'
import type { StoredUpdate, UpdateAttempts, UpdateContext } from '#actors/update/state'
import type { UpdateState } from '#model/firmware'
import { defaultAttempts } from '#model/rollout'
import type { Turn } from '#runtime/actor'

/** Behind the first attempt that was in vain; behind each further one twice as long, at most a day. */
export const retryMsMin = 5 * 60_000
export const retryMsMax = 24 * 60 * 60_000
/** So much more or less: devices that failed together do not come back together. */
const spread = 0.2

/** What is remembered of attempts behind a turn: one counts from its beginning on, whatever comes of it. */
export function attemptsAfter(
  before: StoredUpdate | undefined,
  state: UpdateState,
  { by, offer, index }: UpdateContext,
  turn: Turn,
): UpdateAttempts | null {
  const attempts = before?.attempts ?? null
  if (state === 'done') return null
  if (!offer) return attempts
  if (state === 'offering' && before?.state !== 'offering') {
    if (by === 'post') return null
    const { firmware, rollout } = offer
    const count = attempts && isSame(attempts, { index, offer }) ? attempts.count + 1 : 1
    return { firmware, index, rollout: rollout?.id ?? null, count, nextAt: null }
  }
  if (!attempts) return null
  if (state !== 'failed' && state !== 'refused')
    return attempts.nextAt === null ? attempts : { ...attempts, nextAt: null }
  const countMax = offer.rollout?.maxAttempts ?? defaultAttempts
  return { ...attempts, nextAt: attempts.count < countMax ? turn.now + retryMs(attempts.count, turn) : null }
}

/** Whether a firmware may not begin by itself now: it was tried too often, or too short a time ago. */
export function isHeldBack(
  attempts: UpdateAttempts | null | undefined,
  found: Pick<FoundUpdate, 'index' | 'offer'>,
  now: number,
): boolean {
  if (!attempts || !isSame(attempts, found)) return false
  return attempts.nextAt === null || attempts.nextAt > now
}

function isSame(attempts: UpdateAttempts, { index, offer }: Pick<FoundUpdate, 'index' | 'offer'>): boolean {
  return (
    attempts.firmware === offer.firmware && attempts.index === index && attempts.rollout === (offer.rollout?.id ?? null)
  )
}

function retryMs(count: number, turn: Turn): number {
  const [chance = 0] = turn.random(1)
  const ms = Math.min(retryMsMin * 2 ** (count - 1), retryMsMax)
  return Math.round(ms * (1 + spread * ((2 * chance) / 255 - 1)))
}
