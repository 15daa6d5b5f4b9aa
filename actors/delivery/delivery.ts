import type { DeliveryNotices, WebhookNotices } from '#actors/notice-bus'
import { type Decisions, putIn, recordActor, recordsWithoutEntry } from '#actors/record-actor'
import type { DeliveryHead, DeliveryRequest } from '#model/delivery'
import type { Entry } from '#model/entry'
import { resultsWith, type StoredWebhook, type WebhookAnswer, type WebhookResult } from '#model/webhook'
import {
  type ActorAddress,
  type ActorDefinition,
  answer,
  type CommandOf,
  type IndexChange,
  type NoFields,
  type RecordChange,
  type Recorded,
  type Turn,
} from '#runtime/actor'

/** The mail requests and webhooks of one function, and the latest results of webhooks. */
export interface DeliveryState {
  readonly tenant: string
  readonly function: string
  head: DeliveryHead
  /** By `seq`, ascending. */
  readonly requests: Map<number, DeliveryRequest>
  /**
   * Waiting webhooks by id, in any order. They are not numbered, because digests count the numbers of mail requests.
   */
  readonly webhooks: Map<string, StoredWebhook>
  /** The results of the latest webhooks, by id. */
  readonly results: Map<string, WebhookResult>
}

// Record names: `head`, and a prefix with the number of a request, or with the id of a waiting webhook or of a result.
const headRecord = 'head'
const requestPrefix = 'request/'
const webhookPrefix = 'webhook/'
const resultPrefix = 'webhook_result/'

/** Padded, so that record names sort by number. */
function requestRecord(seq: number): string {
  return `${requestPrefix}${String(seq).padStart(16, '0')}`
}

/** The mail requests and webhooks of one function. */
export function deliveryAddress(tenant: string, fn: string): ActorAddress<DeliveryState, DeliveryCommand> {
  return { kind: 'delivery', tenant, id: fn }
}

/**
 * Functions with waiting webhooks, or with mail requests that some subscriber may not have processed: entries
 * `<functionId>`.
 */
export const deliveringIndex = 'delivering'

export interface DeliveryCommands {
  /** Sent by the device on which the function ran. */
  request: { readonly request: Omit<DeliveryRequest, 'seq'> }
  /** Mail requests beyond the rate: they are only counted, and not stored. */
  overflowed: { readonly count: number }
  /** All subscribers have processed the requests up to `to`. */
  trim: { readonly to: number }
  /** Sent by the device on which the function ran. */
  webhook: { readonly request: Pick<StoredWebhook, 'at' | 'device' | 'node' | 'value' | 'previous' | 'cause'> }
  /** An attempt failed; there will be another attempt. */
  webhook_tried: {
    readonly id: string
    readonly result: WebhookAnswer
    readonly nextAt: number
  }
  webhook_ended: Pick<WebhookResult, 'id' | 'status' | 'result'> & {
    /** Whether the webhook ended with one more attempt, which `attempts` does not count yet. */
    readonly isTried: boolean
  }
  /** Webhooks beyond the rate, which are not stored. */
  webhooks_dropped: {
    readonly node: string
    readonly count: number
  }
  /** The function was deleted. */
  forget: NoFields
}

export type DeliveryCommand = CommandOf<DeliveryCommands>

export interface DeliveryOptions {
  readonly notices: DeliveryNotices & WebhookNotices
  /**
   * Maximum number of stored mail requests of a function. If there are more, the oldest is dropped and only counted.
   */
  readonly storedRequestsMax: number
}

/**
 * The mail requests and webhooks of one function, one record each, and the numbering of the mail requests. A device
 * sends a request in the commit of the entry that caused it, so either both are stored or neither; recipients are
 * determined later. Mail requests, including those that are only counted, are numbered without gaps. A number without a
 * record belongs to a request that was not stored, was dropped, or is no longer needed. Contract 5.7, 12.
 *
 * The actor stays awake while it stores requests or waiting webhooks. It is indexed while webhooks wait, or while some
 * subscriber may not have processed all requests. Requests and webhooks cause no events.
 */
export function deliveryActor(options: DeliveryOptions): ActorDefinition<DeliveryState, DeliveryCommand, Entry> {
  const actor: ActorDefinition<DeliveryState, DeliveryCommand, Entry> = recordActor<DeliveryState, DeliveryCommands>({
    kind: 'delivery',
    records: {
      [headRecord]: 'head of requests',
      [`${requestPrefix}*`]: 'request',
      [`${webhookPrefix}*`]: 'webhook',
      [`${resultPrefix}*`]: 'result of a webhook',
    },
    isForgettable: ({ requests, webhooks }) => requests.size + webhooks.size === 0,
    empty: ({ tenant, id }) => ({
      tenant,
      function: id,
      head: noRequests,
      requests: new Map(),
      webhooks: new Map(),
      results: new Map(),
    }),
    put,
    decisions: decisionsWith(options),
  })
  return { ...actor, wake: (address, records) => actor.wake(address, inOrder(records)) }
}

const noRequests: DeliveryHead = Object.freeze({ seq: 0, trimmed: 0, at: 0 })

/** Sorts records by name, so that requests are put in the order of their numbers; records arrive in any order. */
function inOrder(records: ReadonlyMap<string, unknown>): ReadonlyMap<string, unknown> {
  return new Map([...records].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function put(state: DeliveryState, { name, value }: RecordChange): void {
  if (name === headRecord) {
    state.head = (value as DeliveryHead | null) ?? noRequests
    return
  }
  const slash = name.indexOf('/') + 1
  const id = name.slice(slash)
  switch (name.slice(0, slash)) {
    case requestPrefix:
      putIn(state.requests, Number(id), value)
      break
    case webhookPrefix:
      putIn(state.webhooks, id, value)
      break
    case resultPrefix:
      putIn(state.results, id, value)
  }
}

function decisionsWith({ notices, storedRequestsMax }: DeliveryOptions): Decisions<DeliveryState, DeliveryCommands> {
  return {
    request(state, { request }, { now }) {
      const { head, requests } = state
      const seq = head.seq + 1
      const value: DeliveryRequest = { ...request, seq }
      const [oldest] = requests.keys()
      const dropped =
        requests.size >= storedRequestsMax && oldest !== undefined ? [removalOf(requestRecord(oldest))] : []
      return headDecision(state, { ...head, seq, at: now }, notices, [{ name: requestRecord(seq), value }, ...dropped])
    },

    overflowed(state, { count }, { now }) {
      const { head } = state
      return headDecision(state, { ...head, seq: head.seq + count, at: now }, notices)
    },

    trim(state, { to }) {
      const { head, requests } = state
      const trimmed = Math.min(to, head.seq)
      if (trimmed <= head.trimmed) return answer(undefined)
      const unneeded = [...requests.keys()].filter((seq) => seq <= trimmed)
      return headDecision(
        state,
        { ...head, trimmed },
        notices,
        unneeded.map((seq) => removalOf(requestRecord(seq))),
      )
    },

    /** Contract 12. */
    webhook(state, { request }, { now, random }) {
      const { tenant, function: fn } = state
      const id = newId(random)
      const value: StoredWebhook = { ...request, id, attempts: 0, nextAt: now, result: null }
      return recordsWithoutEntry([{ name: webhookPrefix + id, value }], {
        indexes: indexedWhen(state, true),
        effects: [() => notices.webhookAdded(tenant, fn, value)],
      })
    },

    webhook_tried({ webhooks }, { id, result, nextAt }) {
      const before = webhooks.get(id)
      if (!before) return answer(undefined)
      const value: StoredWebhook = { ...before, attempts: before.attempts + 1, nextAt, result }
      return recordsWithoutEntry([{ name: webhookPrefix + id, value }])
    },

    webhook_ended(state, { id, status, result, isTried }, { now }) {
      const { head, webhooks, results } = state
      const before = webhooks.get(id)
      if (!before) return answer(undefined)
      const { node, attempts } = before
      const value: WebhookResult = { id, node, status, result, attempts: attempts + (isTried ? 1 : 0), time: now }
      const isLast = webhooks.size === 1 && !isWaiting(head)
      return recordsWithoutEntry([removalOf(webhookPrefix + id), ...resultRecords(results, value)], {
        indexes: isLast ? indexedWhen(state, false) : [],
      })
    },

    webhooks_dropped({ results }, { node, count }, { now, random }) {
      const dropped = {
        id: newId(random),
        node,
        status: 'DROPPED',
        result: 'rate',
        attempts: 0,
        time: now,
        count,
      } as const
      return recordsWithoutEntry(resultRecords(results, dropped))
    },

    forget(state) {
      const { tenant, function: fn, head, requests, webhooks, results } = state
      if (head === noRequests && requests.size + webhooks.size + results.size === 0) return answer(undefined)
      const removals = [
        ...[...requests.keys()].map((seq) => removalOf(requestRecord(seq))),
        ...[...webhooks.keys()].map((id) => removalOf(webhookPrefix + id)),
        ...[...results.keys()].map((id) => removalOf(resultPrefix + id)),
      ]
      return recordsWithoutEntry([{ name: headRecord, value: null }, ...removals], {
        indexes: indexedWhen(state, false),
        effects: [() => notices.requested(tenant, fn, noRequests), () => notices.webhooksForgotten(tenant, fn)],
      })
    },
  }
}

const idBytes = 16

function newId(random: Turn['random']): string {
  return `msg_${Buffer.from(random(idBytes)).toString('base64url')}`
}

function resultRecords(results: DeliveryState['results'], added: WebhookResult): readonly RecordChange[] {
  const { row, removed } = resultsWith(results, added)
  const removals = removed === undefined ? [] : [removalOf(resultPrefix + removed)]
  return [...removals, { name: resultPrefix + row.id, value: row }]
}

/**
 * The decision of a turn that changes the head: stores the head, updates the index row if necessary, and notifies the
 * mailer.
 */
function headDecision(
  state: DeliveryState,
  head: DeliveryHead,
  notices: DeliveryNotices,
  records: readonly RecordChange[] = [],
): Recorded<Entry> {
  const { tenant, function: fn } = state
  return recordsWithoutEntry([{ name: headRecord, value: head }, ...records], {
    indexes: indexedWhen(state, isWaiting(head) || state.webhooks.size > 0),
    effects: [() => notices.requested(tenant, fn, head)],
  })
}

function indexedWhen({ function: entry, head, webhooks }: DeliveryState, isPresent: boolean): readonly IndexChange[] {
  const isIndexed = isWaiting(head) || webhooks.size > 0
  return isIndexed === isPresent ? [] : [{ index: deliveringIndex, entry, isPresent }]
}

/** Whether there are requests that some subscriber has possibly not processed yet. */
export function isWaiting({ seq, trimmed }: DeliveryHead): boolean {
  return seq > trimmed
}

function removalOf(name: string): RecordChange {
  return { name, value: null }
}
