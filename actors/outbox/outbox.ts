import { recordActor, recordsWithoutEntry } from '#actors/record-actor'
import type { SkipReason } from '#model/delivery'
import type { Entry } from '#model/entry'
import type { ActorAddress, CommandOf, Decision, RecordChange, Turn } from '#runtime/actor'

const tallyRecord = 'tally'

/**
 * The mail statistics of a tenant, counted in the commits that record each outcome. Recipients are not stored. Contract
 * 5.7.
 */
export const outboxActor = recordActor<OutboxState, OutboxCommands>({
  kind: 'outbox',
  records: { [tallyRecord]: 'tally of mails' },
  empty: () => ({ tally: noMails }),
  put,
  decisions: { count: decideCount },
})

const noMails: OutboxTally = Object.freeze({ sent: 0, digests: 0, digested: 0, failures: Object.freeze({}) })

function put(state: OutboxState, { value }: RecordChange): void {
  state.tally = (value as OutboxTally | null) ?? noMails
}

function decideCount({ tally }: OutboxState, counted: OutboxCommands['count'], { now }: Turn): Decision<Entry> {
  const { sent = 0, digests = 0, digested = 0, passed } = counted
  const value: OutboxTally = {
    sent: tally.sent + sent,
    digests: tally.digests + digests,
    digested: tally.digested + digested,
    failures: passed
      ? {
          ...tally.failures,
          [passed.reason]: { count: (tally.failures[passed.reason]?.count ?? 0) + passed.count, lastAt: now },
        }
      : tally.failures,
  }
  return recordsWithoutEntry([{ name: tallyRecord, value }])
}

export interface OutboxState {
  tally: OutboxTally
}

/** Counted since the tenant was created. */
export interface OutboxTally {
  readonly sent: number
  readonly digests: number
  /** Requests that were mailed in digests. */
  readonly digested: number
  /** Reasons without failures are absent. `lastAt` in Unix ms. */
  readonly failures: Readonly<Partial<Record<SkipReason, { readonly count: number; readonly lastAt: number }>>>
}

/** The mail statistics of a tenant. */
export function outboxAddress(tenant: string): ActorAddress<OutboxState, OutboxCommand> {
  return { kind: 'outbox', tenant, id: 'outbox' }
}

interface OutboxCommands {
  /** Sent by subscribers, in the commit that records the outcome of a mail. Absent numbers are 0. */
  count: {
    /** Mails of a single request. */
    readonly sent?: number
    readonly digests?: number
    /** Requests that were mailed in digests. */
    readonly digested?: number
    /** Requests that were never mailed to a subscriber. */
    readonly passed?: { readonly reason: SkipReason; readonly count: number }
  }
}

export type OutboxCommand = CommandOf<OutboxCommands>
