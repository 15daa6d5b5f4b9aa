import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { AnyDefinition } from '#runtime/activation'
import {
  type ActorAddress,
  type ActorDefinition,
  answer,
  type Decision,
  type Recorded,
  record,
  refuse,
  type Tell,
} from '#runtime/actor'

/** Everything that a turn can do, as plain data. */
export interface TallyCommand {
  readonly type: 'add' | 'read' | 'refuse' | 'throw' | 'ping' | 'forget_me' | 'reminder_due'
  /** Numbers to add; one event each. */
  readonly add?: readonly (number | 'poison')[]
  readonly change?: number
  readonly tells?: readonly Tell[]
  readonly effects?: readonly (() => void)[]
  readonly reminder?: number | null
  readonly isCheckpointed?: boolean
  readonly answer?: unknown
  readonly dueAt?: number
  /** Runs inside `decide`, which no real actor does. */
  readonly inside?: () => void
}

export interface TallyState {
  readonly id: string
  /** Every number added, with the offset of its event. */
  added: { readonly value: number; readonly offset: number }[]
  /** A sum that changes without events. */
  quiet: number
}

const tallyFormat = { name: 'tally', version: 1, upgrades: {} }

/** A device-like actor with persistence by redo: it stores the numbers it receives. */
export const tally: ActorDefinition<TallyState, TallyCommand, Entry> = {
  kind: 'tally',
  persistence: 'redo',
  formats: { '': tallyFormat },
  wake: ({ id }) => ({ id, added: [], quiet: 0 }),
  exists: ({ added, quiet }) => added.length + quiet > 0,
  writeSnapshot({ added, quiet }, writer) {
    const isThere = added.length + quiet > 0
    if (isThere) writer.any({ added, quiet })
    return isThere
  },
  readSnapshot: ({ id }, reader) => ({ id, ...(reader.any() as Pick<TallyState, 'added' | 'quiet'>) }),
  concerns: (event) => (event.kind === 'meta_set' ? event.device : undefined),
  change(state, change) {
    state.quiet += change as number
  },
  apply(state, event, offset) {
    if (event.kind !== 'meta_set') throw new Error(`a tally is not changed by ${event.kind}`)
    if (event.meta.add === 'poison') throw new Error('poisoned')
    state.added.push({ value: event.meta.add as number, offset })
  },
  decide(state, command, turn) {
    if (command.type === 'forget_me') return record([], { changes: [-state.quiet], isCheckpointed: true })
    const events = numbersOf(command).map(
      (add): Entry => ({ kind: 'meta_set', device: state.id, at: turn.now, meta: { add } }),
    )
    return decide(command, () => state.added.map(({ value }) => value), events)
  },
}

export interface BookState {
  readonly id: string
  pages: Map<string, number>
}

/** An actor with write-through persistence: one record for each number; its events are schema_deleted of `<id>.<number>`. */
export const book: ActorDefinition<BookState, TallyCommand, Entry> = {
  kind: 'book',
  persistence: 'write_through',
  formats: { '*': { name: 'page', version: 1, upgrades: {} } },
  wake: (address, records) => ({ id: address.id, pages: new Map(records as ReadonlyMap<string, number>) }),
  apply(state, event) {
    if (event.kind !== 'schema_deleted') throw new Error(`a book is not changed by ${event.kind}`)
    const value = event.service.slice(state.id.length + 1)
    if (value === 'poison') throw new Error('poisoned')
    state.pages.set(`page/${value}`, Number(value))
  },
  decide(state, command, turn) {
    const numbers = numbersOf(command)
    const events = numbers.map(
      (add): Entry => ({ kind: 'schema_deleted', service: `${state.id}.${add}`, at: turn.now }),
    )
    const decision = decide(command, () => [...state.pages.values()], events)
    if (decision.type !== 'record') return decision
    const records = numbers.map((add) => ({ name: `page/${add}`, value: add }))
    return { ...decision, records }
  },
}

export const tallies = [tally, book] as unknown as AnyDefinition<Entry>[]

export function tallyAddress(id: string, tenant = 'default'): ActorAddress {
  return { kind: 'tally', tenant, id }
}

export function bookAddress(id: string, tenant = 'default'): ActorAddress {
  return { kind: 'book', tenant, id }
}

/** A reminder adds the time at which it was due. */
function numbersOf({ type, add, dueAt }: TallyCommand): readonly (number | 'poison')[] {
  return type === 'reminder_due' ? [dueAt ?? 0] : (add ?? [])
}

function decide(command: TallyCommand, values: () => readonly number[], events: readonly Entry[]): Decision<Entry> {
  command.inside?.()
  switch (command.type) {
    case 'read':
      return answer(values())
    case 'refuse':
      return refuse(new Problem('conflict'))
    case 'throw':
      throw new Error('decided to throw')
    default:
      return record(events, moreOf(command))
  }
}

function moreOf({ change, tells, effects, reminder, isCheckpointed, answer }: TallyCommand) {
  const more: Omit<Recorded<Entry>, 'type' | 'events'> = {
    ...(change === undefined ? {} : { changes: [change] }),
    ...(tells ? { tells } : {}),
    ...(effects ? { effects } : {}),
    ...(reminder === undefined ? {} : { reminder }),
    ...(isCheckpointed ? { isCheckpointed } : {}),
    answer,
  }
  return more
}
