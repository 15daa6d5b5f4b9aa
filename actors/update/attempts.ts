import type { FoundUpdate } from '#actors/update/commands'
import { stayMsMin } from '#actors/update/machine'
import type { StoredUpdate, UpdateAttempts, UpdateContext } from '#actors/update/state'
import type { UpdateState } from '#model/firmware'
import { defaultAttempts } from '#model/rollout'
import type { Turn } from '#runtime/actor'
import { backOffMs } from '#runtime/back-off-time'

/** The delay after the first attempt. It doubles with each further attempt up to `retryMsMax`, and varies by 20 %. */
export const retryMsMin = 5 * 60_000
export const retryMsMax = 24 * 60 * 60_000
const retryTimes = { firstMs: retryMsMin, longestMs: retryMsMax, spread: 0.2 }
/** Firmwares remembered for one index: enough for an update server that alternates between two of them. */
export const rememberedMax = 4

/**
 * The remembered attempts after a turn. An attempt counts as soon as it begins. A successful firmware is remembered
 * too, because the device may fall back to the old one. Attempts no longer count when the device has had the firmware
 * for `stayMsMin`.
 *
 * When another firmware is chosen, successful firmwares of the same index and the oldest failed ones are forgotten.
 * When a user starts an update, all firmwares of this index are forgotten.
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
    const continues = last !== undefined && last.rollout === rollout && !isFinal(last, turn.now)
    const chosen = { firmware, index, rollout, by, count: continues ? last.count + 1 : 1, nextAt: null, doneAt: null }
    return [...failuresToRemember(all, chosen), chosen]
  }
  if (!last) return all
  const after = afterMove(last, state, offer.rollout?.maxAttempts ?? defaultAttempts, turn)
  return all.map((each) => (each === last ? after : each))
}

/**
 * Whether an update to this firmware must not begin automatically now, because it was tried too often or too recently.
 */
export function isHeldBack(
  attempts: readonly UpdateAttempts[] | undefined,
  { index, offer }: Pick<FoundUpdate, 'index' | 'offer'>,
  now: number,
): boolean {
  const last = attempts?.find((each) => isOf(each, index, offer.firmware))
  if (!last || last.rollout !== (offer.rollout?.id ?? null) || isFinal(last, now)) return false
  return last.nextAt === null || last.nextAt > now
}

/** Attempts that will be repeated: for each index only those of the last chosen firmware. The earliest come first. */
export function waitingAttempts(attempts: readonly UpdateAttempts[]): readonly WaitingAttempts[] {
  const chosenLast = new Map(attempts.map((each) => [each.index, each]))
  return [...chosenLast.values()].filter(isWaiting).sort((one, next) => one.nextAt - next.nextAt)
}

type WaitingAttempts = UpdateAttempts & { readonly nextAt: number }

function isWaiting(attempts: UpdateAttempts): attempts is WaitingAttempts {
  return attempts.nextAt !== null && attempts.doneAt === null
}

function afterMove(last: UpdateAttempts, state: UpdateState, countMax: number, turn: Turn): UpdateAttempts {
  if (state !== 'done' && state !== 'failed' && state !== 'refused')
    return last.nextAt === null && last.doneAt === null ? last : { ...last, nextAt: null, doneAt: null }
  const nextAt = last.count < countMax ? turn.now + retryMs(last.count, turn) : null
  return { ...last, nextAt, doneAt: state === 'done' ? turn.now : null }
}

/** The attempts of other indexes, and the last failed attempts of this index with other firmwares. */
function failuresToRemember(
  all: readonly UpdateAttempts[],
  { index, firmware }: UpdateAttempts,
): readonly UpdateAttempts[] {
  const failed = all.filter((each) => each.index === index && each.firmware !== firmware && each.doneAt === null)
  const isRemembered = new Set(failed.slice(1 - rememberedMax))
  return all.filter((each) => each.index !== index || isRemembered.has(each))
}

function isOf(attempts: UpdateAttempts, index: number, firmware: string): boolean {
  return attempts.index === index && attempts.firmware === firmware
}

function isFinal({ doneAt }: UpdateAttempts, now: number): boolean {
  return doneAt !== null && now - doneAt >= stayMsMin
}

function retryMs(count: number, turn: Turn): number {
  const [chance = 0] = turn.random(1)
  return Math.round(backOffMs(retryTimes, count, chance / 255))
}
