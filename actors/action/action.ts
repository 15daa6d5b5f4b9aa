import { putStored, recordActor, recordsWithoutEntry } from '#actors/record-actor'
import { actionRetentionMs, type DeviceOutcome, type StoredAction } from '#model/action'
import { Problem } from '#model/problem'
import { type ActorAddress, answer, type CommandOf, type IndexChange, type NoFields, refuse } from '#runtime/actor'
import type { Reminded } from '#runtime/system'

/** Commands of an action. Contract 3.6. */
interface ActionCommands extends Reminded {
  /** The devices of an action are stored in pages before the action begins. */
  begin: { readonly action: Omit<StoredAction, 'createdAt' | 'isDone'> }
  /** Sent when the outcomes of all pages are stored. */
  done: NoFields
}

/** Commands of one page of an action. */
interface ActionPageCommands extends Reminded {
  /** Sent before the action begins. */
  put: { readonly devices: readonly string[] }
  /**
   * Each outcome has the position of its device in the page. Only the first outcome of a device is stored. Answered with
   * `PageProgress`.
   */
  outcomes: { readonly outcomes: readonly (readonly [place: number, outcome: DeviceOutcome])[] }
}

export type ActionPageCommand = CommandOf<ActionPageCommands>

export interface PageProgress {
  /** The number of devices of the page that have no outcome yet; 0 for a deleted page. */
  readonly pending: number
}

export function actionAddress(tenant: string, id: string): ActorAddress<unknown, CommandOf<ActionCommands>> {
  return { kind: 'action', tenant, id }
}

/** Pages are numbered from 0. */
export function actionPageAddress(
  tenant: string,
  action: string,
  page: number,
): ActorAddress<unknown, ActionPageCommand> {
  return { kind: 'action_page', tenant, id: `${action}.${page}` }
}

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
export const actionActor = recordActor<ActionState, ActionCommands>({
  kind: 'action',
  records: { [actionRecord]: 'action' },
  isBrief: true,
  empty: ({ id }) => ({ id, stored: undefined }),
  put: putStored,
  decisions: {
    begin({ id, stored }, { action }, { now }) {
      if (stored) return refuse(new Problem('conflict', 'the id is taken'))
      const value: StoredAction = { ...action, createdAt: now, isDone: false }
      return recordsWithoutEntry([{ name: actionRecord, value }], {
        indexes: [running(id, true)],
        reminder: now + actionRetentionMs,
      })
    },

    done({ id, stored }) {
      if (!stored || stored.isDone) return answer(undefined)
      return recordsWithoutEntry([{ name: actionRecord, value: { ...stored, isDone: true } satisfies StoredAction }], {
        indexes: [running(id, false)],
      })
    },

    /** The retention time of the action is over. */
    reminder_due: ({ id, stored }) =>
      stored
        ? recordsWithoutEntry([{ name: actionRecord, value: null }], { indexes: [running(id, false)] })
        : answer(undefined),
  },
})

function running(entry: string, isPresent: boolean): IndexChange {
  return { index: runningActionIndex, entry, isPresent }
}

/** Maximum number of devices of one page: storing outcomes rewrites the whole page. */
export const pageDevicesMax = 100

/**
 * How much longer a page is retained than its action. A page is stored before its action, and must exist as long as the
 * action does.
 */
const extraRetentionMs = 10 * 60_000

export const pageRecord = 'page'

export interface StoredPage {
  /** Unix ms. */
  readonly createdAt: number
  /** Device identifiers. */
  readonly devices: readonly string[]
  /** The outcome of each device, in the order of `devices`; null: none yet. */
  readonly outcomes: readonly (DeviceOutcome | null)[]
}

export interface PageState {
  stored: StoredPage | undefined
}

/** Some of the devices of an action with their outcomes. An action may have a thousand pages. Contract 3.6. */
export const actionPageActor = recordActor<PageState, ActionPageCommands>({
  kind: 'action_page',
  records: { [pageRecord]: 'page of an action' },
  isBrief: true,
  empty: () => ({ stored: undefined }),
  put: putStored,
  decisions: {
    /**
     * Replaces the page of an earlier attempt, if that attempt ended before the action began: that page may have other
     * devices.
     */
    put(_, { devices }, { now }) {
      const value: StoredPage = { createdAt: now, devices, outcomes: devices.map(() => null) }
      return recordsWithoutEntry([{ name: pageRecord, value }], {
        reminder: now + actionRetentionMs + extraRetentionMs,
      })
    },

    /** The outcomes of a deleted page are dropped. */
    outcomes({ stored }, { outcomes: added }) {
      if (!stored) return answer({ pending: 0 } satisfies PageProgress)
      const outcomes = [...stored.outcomes]
      let isChanged = false
      for (const [place, outcome] of added) {
        if (outcomes[place] !== null) continue
        outcomes[place] = outcome
        isChanged = true
      }
      const progress: PageProgress = { pending: outcomes.filter((outcome) => outcome === null).length }
      if (!isChanged) return answer(progress)
      return recordsWithoutEntry([{ name: pageRecord, value: { ...stored, outcomes } satisfies StoredPage }], {
        answer: progress,
      })
    },

    /** The retention time of the page is over. */
    reminder_due: ({ stored }) =>
      stored ? recordsWithoutEntry([{ name: pageRecord, value: null }]) : answer(undefined),
  },
})
