import { transition } from 'xstate'
import type { UpdateNotices } from '#actors/notice-bus'
import { attemptsAfter, waitingAttempts } from '#actors/update/attempts'
import type { UpdateEvent } from '#actors/update/events'
import { isRunning, machineVersion, updateMachine } from '#actors/update/machine'
import {
  earlierAfter,
  finishedCheck,
  publishedStateOf,
  type StoredUpdate,
  type UpdateActorState,
  type UpdateContext,
  updateRecord,
  updatingIndex,
} from '#actors/update/state'
import { countedAfter, stageReports } from '#actors/update/update-stage'
import type { Entry, UpdateChanged } from '#model/entry'
import type { UpdateState } from '#model/firmware'
import { answer, type Decision, type IndexChange, record, type Turn } from '#runtime/actor'

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
