import type { FoundUpdate } from '#actors/update/commands'
import { stayMsMin } from '#actors/update/machine'
import type { StoredUpdate, UpdateAttempts, UpdateContext } from '#actors/update/state'
import type { UpdateState } from '#model/firmware'
import { defaultAttempts } from '#model/rollout'
import type { Turn } from '#runtime/actor'
import { backOffMs } from '#runtime/back-off-time'

/** Behind the first attempt that was in vain; behind each further one twice as long, at most a day. */
export const retryMsMin = 5 * 60_000
export const retryMsMax = 24 * 60 * 60_000
const retryTimes = { firstMs: retryMsMin, longestMs: retryMsMax, spread: 0.2 }
/** So many firmwares are remembered of one index: enough for an update server that offers two of them in turns. */
export const rememberedMax = 4

/**
 * What is remembered of attempts behind a turn: one counts from its beginning on, whatever comes of it. Of a firmware that
 * its device has by now it is remembered too, for it may fall back: until it kept that long enough, another one is chosen,
 * or somebody asks by hand.
 */
export function attemptsAfter(
  before: StoredUpdate | undefined,
  state: UpdateState,
  { by, offer, index }: UpdateContext,
  turn: Turn,
): readonly UpdateAttempts[] {
  const all = before?.attempts ?? []
  if (!offer) return all
  const last = all.find((each) => isOf(each, index, offer.firmware))
  if (state === 'offering' && before?.state !== 'offering') {
    if (by === 'post') return all.filter((each) => each.index !== index)
    const { firmware } = offer
    const rollout = offer.rollout?.id ?? null
    const isGoingOn = last !== undefined && last.rollout === rollout && !hasStayed(last, turn.now)
    const chosen = { firmware, index, rollout, by, count: isGoingOn ? last.count + 1 : 1, nextAt: null, doneAt: null }
    return [...besideChosen(all, chosen), chosen]
  }
  if (!last) return all
  const after = movedTo(last, state, offer.rollout?.maxAttempts ?? defaultAttempts, turn)
  return all.map((each) => (each === last ? after : each))
}

/** Whether a firmware may not begin by itself now: it was tried too often, or too short a time ago. */
export function isHeldBack(
  attempts: readonly UpdateAttempts[] | undefined,
  { index, offer }: Pick<FoundUpdate, 'index' | 'offer'>,
  now: number,
): boolean {
  const last = attempts?.find((each) => isOf(each, index, offer.firmware))
  if (!last || last.rollout !== (offer.rollout?.id ?? null) || hasStayed(last, now)) return false
  return last.nextAt === null || last.nextAt > now
}

/** What waits to be tried again: of each index only what was chosen last. The one that is due first comes first. */
export function waitingAttempts(attempts: readonly UpdateAttempts[]): readonly WaitingAttempts[] {
  const chosenLast = new Map(attempts.map((each) => [each.index, each]))
  return [...chosenLast.values()].filter(isWaiting).sort((one, next) => one.nextAt - next.nextAt)
}

type WaitingAttempts = UpdateAttempts & { readonly nextAt: number }

function isWaiting(attempts: UpdateAttempts): attempts is WaitingAttempts {
  return attempts.nextAt !== null && attempts.doneAt === null
}

function movedTo(last: UpdateAttempts, state: UpdateState, countMax: number, turn: Turn): UpdateAttempts {
  if (state !== 'done' && state !== 'failed' && state !== 'refused')
    return last.nextAt === null && last.doneAt === null ? last : { ...last, nextAt: null, doneAt: null }
  const nextAt = last.count < countMax ? turn.now + retryMs(last.count, turn) : null
  return { ...last, nextAt, doneAt: state === 'done' ? turn.now : null }
}

/** Of the same index those that failed last, and none that was done. */
function besideChosen(all: readonly UpdateAttempts[], { index, firmware }: UpdateAttempts): readonly UpdateAttempts[] {
  const kept = all.filter((each) => each.index === index && each.firmware !== firmware && each.doneAt === null)
  const isKept = new Set(kept.slice(1 - rememberedMax))
  return all.filter((each) => each.index !== index || isKept.has(each))
}

function isOf(attempts: UpdateAttempts, index: number, firmware: string): boolean {
  return attempts.index === index && attempts.firmware === firmware
}

function hasStayed({ doneAt }: UpdateAttempts, now: number): boolean {
  return doneAt !== null && now - doneAt >= stayMsMin
}

function retryMs(count: number, turn: Turn): number {
  const [chance = 0] = turn.random(1)
  return Math.round(backOffMs(retryTimes, count, chance / 255))
}
