import type { ActionPageCommand, PageProgress, PutActionPage, PutOutcomes } from '#actors/action/commands'
import { recordActor, recordsWithoutEntry } from '#actors/record-actor'
import { actionRetentionMs, type DeviceOutcome } from '#model/action'
import type { Entry } from '#model/entry'
import { type ActorDefinition, answer, type Decision, type RecordChange, type Turn } from '#runtime/actor'

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
export const actionPageActor: ActorDefinition<PageState, ActionPageCommand, Entry> = recordActor({
  kind: 'action_page',
  records: { [pageRecord]: 'page of an action' },
  isBrief: true,
  empty: () => ({ stored: undefined }),
  put,
  decisions: {
    put: (_, command, turn) => decidePut(command, turn),
    outcomes: decideOutcomes,
    reminder_due: (state, _, turn) => decideDue(state, turn),
  },
})

function put(state: PageState, { value }: RecordChange): void {
  state.stored = (value as StoredPage | null) ?? undefined
}

/**
 * Replaces the page of an earlier attempt, if that attempt ended before the action began: that page may have other
 * devices.
 */
function decidePut({ devices }: PutActionPage, { now }: Turn): Decision<Entry> {
  const value: StoredPage = { createdAt: now, devices, outcomes: devices.map(() => null) }
  return recordsWithoutEntry([{ name: pageRecord, value }], { reminder: now + actionRetentionMs + extraRetentionMs })
}

/** The outcomes of a deleted page are dropped. */
function decideOutcomes({ stored }: PageState, { outcomes: added }: PutOutcomes): Decision<Entry> {
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
}

/**
 * Deletes the page after its retention time. If that time is not over, because a clock was set back, sets the reminder
 * again.
 */
function decideDue({ stored }: PageState, { now }: Turn): Decision<Entry> {
  if (!stored) return answer(undefined)
  const endsAt = stored.createdAt + actionRetentionMs + extraRetentionMs
  return now < endsAt
    ? recordsWithoutEntry([], { reminder: endsAt })
    : recordsWithoutEntry([{ name: pageRecord, value: null }])
}
