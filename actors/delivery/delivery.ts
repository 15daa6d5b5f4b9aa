import {
  type AddRequest,
  type CountOverflow,
  type DeliveryCommand,
  type DeliveryState,
  deliveringIndex,
  headRecord,
  requestPrefix,
  requestRecord,
  type TrimRequests,
} from '#actors/delivery/state'
import type { DeliveryNotices } from '#actors/notice-bus'
import { recordActor, recordOnly } from '#actors/record-actor'
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
  readonly storedRequestsMax: number
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
  storedRequestsMax,
}: DeliveryOptions): ActorDefinition<DeliveryState, DeliveryCommand, Entry> {
  const actor: ActorDefinition<DeliveryState, DeliveryCommand, Entry> = recordActor({
    kind: 'delivery',
    records: { [headRecord]: 'head of requests', [`${requestPrefix}*`]: 'request' },
    isForgettable: ({ requests }) => requests.size === 0,
    empty: ({ tenant, id }) => ({ tenant, function: id, head: noRequests, requests: new Map() }),
    put,
    decisions: {
      request: (state, command, turn) => decideRequest(state, command, turn, storedRequestsMax, notices),
      overflowed: (state, command, turn) => decideOverflowed(state, command, turn, notices),
      trim: (state, command) => decideTrim(state, command, notices),
      forget: (state) => decideForget(state, notices),
    },
  })
  return { ...actor, wake: (address, records) => actor.wake(address, inOrder(records)) }
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
  storedMax: number,
  notices: DeliveryNotices,
): Decision<Entry> {
  const { head, requests } = state
  const seq = head.seq + 1
  const value: DeliveryRequest = { ...request, seq }
  const [oldest] = requests.keys()
  const dropped = requests.size >= storedMax && oldest !== undefined ? [removalOf(oldest)] : []
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
