import { transition } from 'xstate'
import type { UpdateNotices } from '#actors/notice-bus'
import { projectAddress, type Stage } from '#actors/project/state'
import { isRunning, machineVersion, stayMsMin, updateMachine } from '#actors/update/machine'
import {
  type CountedUpdate,
  earlierAfter,
  type FoundUpdate,
  finishedCheck,
  publishedStateOf,
  type StoredUpdate,
  type UpdateActorState,
  type UpdateAttempts,
  type UpdateContext,
  type UpdateEvent,
  updateRecord,
  updatingIndex,
} from '#actors/update/state'
import type { Entry, UpdateChanged } from '#model/entry'
import type { UpdateState } from '#model/firmware'
import { releaseName } from '#model/release'
import { defaultAttempts } from '#model/rollout'
import { answer, type Decision, type IndexChange, record, type Tell, type Turn, tell } from '#runtime/actor'
import { backOffMs } from '#runtime/back-off-time'

/** What all update turns use in addition to the state and the command. */
export interface UpdateParts {
  readonly notices: UpdateNotices
  /** How long a device has to answer an offer. */
  readonly offerTimeoutMs: number
}

/** The state of the machine after an event, and the actions that the turn executes. */
interface Step {
  readonly state: UpdateState
  readonly context: UpdateContext
  readonly actions: ReadonlySet<string>
}

/** Handles one event. Returns undefined if the state ignores the event. */
export function nextStep(state: UpdateState, context: UpdateContext, event: UpdateEvent): Step | undefined {
  const before = updateMachine.resolveState({ value: state, context })
  const [after, actions] = transition(updateMachine, before, event)
  if (after === before) return undefined
  return { state: after.value, context: after.context, actions: new Set(actions.map(({ type }) => type)) }
}

/**
 * Handles the events of one turn in order. Only the last step counts: its state is stored, and its actions are
 * executed. Stores nothing if the machine ignores all events.
 */
export function decideTransition(
  actor: UpdateActorState,
  events: readonly UpdateEvent[],
  turn: Turn,
  parts: UpdateParts,
  reply?: unknown,
): Decision<Entry> {
  const { device, stored: before } = actor
  // The effects run when other turns have already used the same object.
  const { tenant } = turn
  let step: Step | undefined
  for (const event of events) {
    const { state, context } = step ??
      before ?? { state: 'idle', context: updateMachine.config.context as UpdateContext }
    step = nextStep(state, context, event) ?? step
  }
  if (!step) return answer(reply)
  const { state, context, actions } = step
  const finished = finishedCheck(before, context.index, turn.now)
  const earlier = earlierAfter(before, context.index, finished)
  const next: StoredUpdate = {
    machine: machineVersion,
    state,
    context,
    attempts: attemptsAfter(before, state, context, turn),
    counted: countedAfter(before?.counted ?? null, state, context),
    ...(earlier && { earlier }),
  }
  const reminder = reminderOf(next)
  const published = [
    ...(finished ? [finished] : []),
    ...(actions.has('publish_status') ? [publishedStateOf(next)] : []),
  ]
  const entries = published.map((each): UpdateChanged => ({ kind: 'update_changed', device, ...each }))
  return record<Entry>(entries, {
    records: [{ name: updateRecord, value: next }],
    indexes: updatingRows(device, before, isRunning(state)),
    ...(reminder !== turn.reminder() && { reminder }),
    tells: stageReports(tenant, before?.counted ?? null, next.counted),
    effects: [
      () => parts.notices.updateMoved(tenant, device, next),
      ...effectsOf(tenant, device, context, actions, parts.notices),
    ],
    answer: reply,
  })
}

/** The index row, if it changes. */
export function updatingRows(device: string, before: StoredUpdate | undefined, isPresent: boolean): IndexChange[] {
  const wasPresent = before !== undefined && isRunning(before.state)
  return wasPresent === isPresent ? [] : [{ index: updatingIndex, entry: device, isPresent }]
}

/** When the running update times out. Without a running update: when the next attempt may begin. Null: never. */
function reminderOf({ state, context, attempts }: StoredUpdate): number | null {
  return isRunning(state) ? context.deadline : (waitingAttempts(attempts)[0]?.nextAt ?? null)
}

function effectsOf(
  tenant: string,
  device: string,
  context: UpdateContext,
  actions: ReadonlySet<string>,
  notices: UpdateNotices,
): (() => void)[] {
  const { by, rest, outcome } = context
  const effects: (() => void)[] = []
  if (actions.has('ask_server')) effects.push(() => notices.updateCheckWanted(tenant, device, context))
  if (actions.has('send_offer')) effects.push(() => notices.updateOfferWanted(tenant, device, context))
  if (actions.has('report_outcome') && outcome) effects.push(() => notices.triggerSettled(tenant, device, outcome))
  if (actions.has('want_next') && rest.length > 0)
    effects.push(() => notices.nextUpdateWanted(tenant, device, by, rest))
  return effects
}

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
function attemptsAfter(
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

/**
 * The stage that the project counts for a device after a turn: the stage of the current offer. While there is no offer,
 * the previous stage stays, so checking for an update does not remove a device from a rollout. Images of external
 * update servers are not counted.
 */
function countedAfter(
  before: CountedUpdate | null,
  state: UpdateState,
  { project, offer }: UpdateContext,
): CountedUpdate | null {
  if (!offer) return before
  if (offer.url !== null) return null
  const { firmware, hardware = null, index, rollout } = offer
  return { project, release: { firmware, hardware, index }, rollout: rollout?.id ?? null, stage: stageOf(state) }
}

/** The messages by which a project counts the new stage of an update, and no longer the stage before. */
export function stageReports(tenant: string, before: CountedUpdate | null, after: CountedUpdate | null): Tell[] {
  if (before && after && isSameTarget(before, after))
    return before.stage === after.stage ? [] : [tellOf(tenant, after, before.stage, after.stage)]
  return [
    ...(before ? [tellOf(tenant, before, before.stage, null)] : []),
    ...(after ? [tellOf(tenant, after, null, after.stage)] : []),
  ]
}

function stageOf(state: UpdateState): Stage {
  return state === 'done' || state === 'failed' || state === 'refused' ? state : 'running'
}

/** Whether both have the same project, rollout and release. */
function isSameTarget(a: CountedUpdate, b: CountedUpdate): boolean {
  return a.project === b.project && a.rollout === b.rollout && releaseName(a.release) === releaseName(b.release)
}

function tellOf(
  tenant: string,
  { project, release, rollout }: CountedUpdate,
  from: Stage | null,
  to: Stage | null,
): Tell {
  return tell(projectAddress(tenant, project), { type: 'job_moved', release, rollout, from, to })
}
