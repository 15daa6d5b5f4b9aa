import type { Entry } from '#model/entry'
import { type RecordChange, type Recorded, record } from '#runtime/actor'

/**
 * The decision of an actor whose state is exactly its records. It records no entry, because every entry is an event,
 * and there are no events about accounts.
 */
export function recordOnly(
  records: readonly RecordChange[],
  more: Omit<Recorded<Entry>, 'type' | 'events' | 'changes' | 'records'> = {},
): Recorded<Entry> {
  return record<Entry>([], { ...more, changes: records, records })
}

/** Applies every record to an empty state, as the turns that stored them did. */
export function restoreState<State>(
  state: State,
  records: ReadonlyMap<string, unknown>,
  put: (state: State, change: RecordChange) => void,
): State {
  for (const [name, value] of records) put(state, { name, value })
  return state
}

/** `apply` of such an actor. */
export function rejectEntry(_: unknown, entry: Entry): never {
  throw new Error(`no entry changes this actor, nor does ${entry.kind}`)
}
