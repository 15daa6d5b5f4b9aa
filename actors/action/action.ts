import type { ActionCommand, BeginAction } from '#actors/action/commands'
import { recordActor, recordsWithoutEntry } from '#actors/record-actor'
import { actionRetentionMs, type StoredAction } from '#model/action'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import {
  type ActorDefinition,
  answer,
  type Decision,
  type IndexChange,
  type RecordChange,
  refuse,
  type Turn,
} from '#runtime/actor'

/** Running actions, which continue when the server starts: entries `<actionId>`. */
export const runningActionIndex = 'running_action'

export const actionRecord = 'action'

export interface ActionState {
  readonly id: string
  /** Undefined: the action has not begun, or was deleted. */
  stored: StoredAction | undefined
}

/**
 * A write to many devices. The outcomes are stored in pages, so that no turn handles more than one page of a fleet.
 * Actions cause no events. Contract 3.6.
 */
export const actionActor: ActorDefinition<ActionState, ActionCommand, Entry> = recordActor({
  kind: 'action',
  records: { [actionRecord]: 'action' },
  isBrief: true,
  empty: ({ id }) => ({ id, stored: undefined }),
  put,
  decisions: {
    begin: decideBegin,
    done: decideDone,
    reminder_due: (state, _, turn) => decideDue(state, turn),
  },
})

function put(state: ActionState, { value }: RecordChange): void {
  state.stored = (value as StoredAction | null) ?? undefined
}

function decideBegin({ id, stored }: ActionState, { action }: BeginAction, { now }: Turn): Decision<Entry> {
  if (stored) return refuse(new Problem('conflict', 'the id is taken'))
  const value: StoredAction = { ...action, createdAt: now, isDone: false }
  return recordsWithoutEntry([{ name: actionRecord, value }], {
    indexes: [running(id, true)],
    reminder: now + actionRetentionMs,
  })
}

/** Sent when the outcomes of all pages are stored. */
function decideDone({ id, stored }: ActionState): Decision<Entry> {
  if (!stored || stored.isDone) return answer(undefined)
  return recordsWithoutEntry([{ name: actionRecord, value: { ...stored, isDone: true } satisfies StoredAction }], {
    indexes: [running(id, false)],
  })
}

/**
 * Deletes the action after its retention time. If that time is not over, because a clock was set back, sets the
 * reminder again.
 */
function decideDue({ id, stored }: ActionState, { now }: Turn): Decision<Entry> {
  if (!stored) return answer(undefined)
  const endsAt = stored.createdAt + actionRetentionMs
  if (now < endsAt) return recordsWithoutEntry([], { reminder: endsAt })
  return recordsWithoutEntry([{ name: actionRecord, value: null }], { indexes: [running(id, false)] })
}

function running(entry: string, isPresent: boolean): IndexChange {
  return { index: runningActionIndex, entry, isPresent }
}
