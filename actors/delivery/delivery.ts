import type { AddRequest, CountOverflow, DeliveryCommand, TrimRequests } from '#actors/delivery/commands'
import type { DeliveryNotices } from '#actors/delivery/notices'
import {
  type DeliveryState,
  deliveringIndex,
  deliveryFormats,
  headRecord,
  requestPrefix,
  requestRecord,
} from '#actors/delivery/state'
import { recordOnly, rejectEntry, restoreState } from '#actors/record-only'
import type { DeliveryHead, DeliveryRequest } from '#model/delivery'
import type { Entry } from '#model/entry'
import {
  type ActorDefinition,
  answer,
  type Decision,
  type IndexChange,
  type RecordChange,
  type Recorded,
  type Turn,
} from '#runtime/actor'

export interface DeliveryOptions {
  readonly notices: DeliveryNotices
  /** Maximum number of stored requests of a function. The oldest ones are dropped and only counted. */
  readonly kept: number
}

/**
 * The mail requests of one function, one record each, and their numbering. A device sends a request in the commit of
 * the entry that caused it, so either both are stored or neither; recipients are determined later. Numbers have no
 * gaps, also for requests that are only counted: a number without a record is a request that can no longer be mailed.
 * Contract 5.7.
 *
 * The actor stays awake and indexed while it stores requests, because every subscriber reads them. Requests cause no
 * events.
 */
export function deliveryActor({
  notices,
  kept,
}: DeliveryOptions): ActorDefinition<DeliveryState, DeliveryCommand, Entry> {
  return {
    kind: 'delivery',
    persistence: 'write_through',
    formats: deliveryFormats,
    isForgettable: ({ requests }) => requests.size === 0,
    wake: ({ tenant, id }, records) =>
      restoreState({ tenant, function: id, head: noRequests, requests: new Map() }, inOrder(records), put),
    change: (state, change) => put(state, change as RecordChange),
    apply: rejectEntry,
    decide(state, command, turn) {
      switch (command.type) {
        case 'request':
          return decideRequest(state, command, turn, kept, notices)
        case 'overflowed':
          return decideOverflowed(state, command, turn, notices)
        case 'trim':
          return decideTrim(state, command, notices)
        case 'forget':
          return decideForget(state, notices)
      }
    },
  }
}

const noRequests: DeliveryHead = Object.freeze({ seq: 0, trimmed: 0, at: 0 })

/** Oldest first; records arrive in any order. */
function inOrder(records: ReadonlyMap<string, unknown>): ReadonlyMap<string, unknown> {
  return new Map([...records].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function put(state: DeliveryState, { name, value }: RecordChange): void {
  if (name === headRecord) state.head = (value as DeliveryHead | null) ?? noRequests
  else if (value === null) state.requests.delete(Number(name.slice(requestPrefix.length)))
  else state.requests.set((value as DeliveryRequest).seq, value as DeliveryRequest)
}

function decideRequest(
  state: DeliveryState,
  { request }: AddRequest,
  { now }: Turn,
  kept: number,
  notices: DeliveryNotices,
): Decision<Entry> {
  const { head, requests } = state
  const seq = head.seq + 1
  const value: DeliveryRequest = { ...request, seq }
  const [oldest] = requests.keys()
  const dropped = requests.size >= kept && oldest !== undefined ? [removalOf(oldest)] : []
  return headDecision(state, { ...head, seq, at: now }, notices, [{ name: requestRecord(seq), value }, ...dropped])
}

function decideOverflowed(
  state: DeliveryState,
  { count }: CountOverflow,
  { now }: Turn,
  notices: DeliveryNotices,
): Decision<Entry> {
  const { head } = state
  return headDecision(state, { ...head, seq: head.seq + count, at: now }, notices)
}

function decideTrim(state: DeliveryState, { to }: TrimRequests, notices: DeliveryNotices): Decision<Entry> {
  const { head, requests } = state
  const trimmed = Math.min(to, head.seq)
  if (trimmed <= head.trimmed) return answer(undefined)
  const unneeded = [...requests.keys()].filter((seq) => seq <= trimmed)
  return headDecision(state, { ...head, trimmed }, notices, unneeded.map(removalOf))
}

function decideForget(state: DeliveryState, notices: DeliveryNotices): Decision<Entry> {
  const { tenant, function: fn, head, requests } = state
  if (head === noRequests && requests.size === 0) return answer(undefined)
  return recordOnly([{ name: headRecord, value: null }, ...[...requests.keys()].map(removalOf)], {
    indexes: indexedWhen(state, false),
    effects: [() => notices.requested(tenant, fn, noRequests)],
  })
}

/** The decision of every turn that changes something: it writes the head and the index row, and notifies the mailer. */
function headDecision(
  state: DeliveryState,
  head: DeliveryHead,
  notices: DeliveryNotices,
  records: readonly RecordChange[] = [],
): Recorded<Entry> {
  const { tenant, function: fn } = state
  return recordOnly([{ name: headRecord, value: head }, ...records], {
    indexes: indexedWhen(state, isWaiting(head)),
    effects: [() => notices.requested(tenant, fn, head)],
  })
}

function indexedWhen({ function: entry, head }: DeliveryState, isPresent: boolean): readonly IndexChange[] {
  return isWaiting(head) === isPresent ? [] : [{ index: deliveringIndex, entry, isPresent }]
}

/** Some subscribers may not be past all requests. */
export function isWaiting({ seq, trimmed }: DeliveryHead): boolean {
  return seq > trimmed
}

function removalOf(seq: number): RecordChange {
  return { name: requestRecord(seq), value: null }
}
