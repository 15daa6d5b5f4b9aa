import type { OutboxCommand } from '#actors/outbox/commands'
import type { SkipReason } from '#model/delivery'
import type { ActorAddress, RecordFormat } from '#runtime/actor'

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

export const tallyRecord = 'tally'

export const outboxFormats: Readonly<Record<string, RecordFormat>> = {
  [tallyRecord]: { name: 'tally of mails', version: 1, upgrades: {} },
}

/** The mail statistics of a tenant. */
export function outboxAddress(tenant: string): ActorAddress<OutboxState, OutboxCommand> {
  return { kind: 'outbox', tenant, id: 'outbox' }
}
