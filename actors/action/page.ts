import type { ActionPageCommand, PageProgress, PutActionPage, TellOutcomes } from '#actors/action/commands'
import { changedByNone, keep, wokenBy } from '#actors/kept'
import { actionKeptMs, type DeviceOutcome } from '#model/action'
import type { Entry } from '#model/entry'
import { type ActorDefinition, answer, type Decision, type RecordChange, type Turn } from '#runtime/actor'

/** Devices of one page: as many as are written again whenever one of them answers. */
export const pageDevicesMax = 100

/** Stored before the action that it belongs to; nobody finds one without its action. */
const outlivesMs = 10 * 60_000

/** Its one record. */
export const pageRecord = 'page'

export interface StoredPage {
  /** Unix ms. */
  readonly createdAt: number
  /** By name. */
  readonly devices: readonly string[]
  /** What became of each, in the same order; null while nothing did. */
  readonly outcomes: readonly (DeviceOutcome | null)[]
}

export interface PageState {
  stored: StoredPage | undefined
}

/** Some of the devices of an action, and what became of it on each. There may be a thousand to an action. Contract 3.6. */
export const actionPageActor: ActorDefinition<PageState, ActionPageCommand, Entry> = {
  kind: 'action_page',
  rest: 'written_through',
  formats: { [pageRecord]: { name: 'page of an action', version: 1, upgrades: {} } },
  fixedRecords: [pageRecord],
  isBrief: true,
  wake: (_, records) => wokenBy({ stored: undefined }, records, put),
  change: (state, change) => put(state, change as RecordChange),
  apply: changedByNone,
  decide(state, command, turn) {
    switch (command.type) {
      case 'put':
        return decidePut(command, turn)
      case 'outcomes':
        return decideOutcomes(state, command)
      case 'reminder_due':
        return decideDue(state, turn)
    }
  },
}

function put(state: PageState, { value }: RecordChange): void {
  state.stored = (value as StoredPage | null) ?? undefined
}

/** Put again where a process died before the action was begun: its devices may be others by now. */
function decidePut({ devices }: PutActionPage, { now }: Turn): Decision<Entry> {
  const value: StoredPage = { createdAt: now, devices, outcomes: devices.map(() => null) }
  return keep([{ name: pageRecord, value }], { reminder: now + actionKeptMs + outlivesMs })
}

/** Nobody waits for what is said of a page that is no more. */
function decideOutcomes({ stored }: PageState, { outcomes: told }: TellOutcomes): Decision<Entry> {
  if (!stored) return answer({ pending: 0 } satisfies PageProgress)
  const outcomes = [...stored.outcomes]
  let isChanged = false
  for (const [place, outcome] of told) {
    if (outcomes[place] !== null) continue
    outcomes[place] = outcome
    isChanged = true
  }
  const progress: PageProgress = { pending: outcomes.filter((outcome) => outcome === null).length }
  if (!isChanged) return answer(progress)
  return keep([{ name: pageRecord, value: { ...stored, outcomes } satisfies StoredPage }], { answer: progress })
}

/** Its day is over; or a clock was put back since, and it is not. */
function decideDue({ stored }: PageState, { now }: Turn): Decision<Entry> {
  if (!stored) return answer(undefined)
  const endsAt = stored.createdAt + actionKeptMs + outlivesMs
  return now < endsAt ? keep([], { reminder: endsAt }) : keep([{ name: pageRecord, value: null }])
}
