import type { Entry } from '#model/entry'
import { type RecordChange, type Recorded, record } from '#runtime/actor'

/**
 * The decision of an actor that is its records and nothing else: what changes in it is what is stored, so that it wakes as
 * it stood. Nobody hears of it: every entry is an event, and there are none about who may sign in.
 */
export function keep(
  records: readonly RecordChange[],
  more: Omit<Recorded<Entry>, 'type' | 'events' | 'changes' | 'records'> = {},
): Recorded<Entry> {
  return record<Entry>([], { ...more, changes: records, records })
}

/** A state that is nothing yet, with every record put in as the turns that made them did. */
export function wokenBy<State>(
  state: State,
  records: ReadonlyMap<string, unknown>,
  put: (state: State, change: RecordChange) => void,
): State {
  for (const [name, value] of records) put(state, { name, value })
  return state
}

/** `apply` of such an actor. */
export function changedByNone(_: unknown, entry: Entry): never {
  throw new Error(`no entry changes this actor, nor does ${entry.kind}`)
}
