import type { CountMails, OutboxCommand } from '#actors/outbox/commands'
import { type OutboxState, type OutboxTally, outboxFormats, tallyRecord } from '#actors/outbox/state'
import { recordOnly, rejectEntry, restoreState } from '#actors/record-only'
import type { Entry } from '#model/entry'
import type { ActorDefinition, Decision, RecordChange, Turn } from '#runtime/actor'

/**
 * The mail statistics of a tenant, counted in the commits that record each outcome. Recipients are not stored. Contract
 * 5.7.
 */
export const outboxActor: ActorDefinition<OutboxState, OutboxCommand, Entry> = {
  kind: 'outbox',
  persistence: 'write_through',
  formats: outboxFormats,
  fixedRecords: [tallyRecord],
  wake: (_, records) => restoreState({ tally: noMails }, records, put),
  change: (state, change) => put(state, change as RecordChange),
  apply: rejectEntry,
  decide: decideCount,
}

const noMails: OutboxTally = Object.freeze({ sent: 0, digests: 0, digested: 0, failures: Object.freeze({}) })

function put(state: OutboxState, { value }: RecordChange): void {
  state.tally = (value as OutboxTally | null) ?? noMails
}

function decideCount({ tally }: OutboxState, counted: CountMails, { now }: Turn): Decision<Entry> {
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
  return recordOnly([{ name: tallyRecord, value }])
}
