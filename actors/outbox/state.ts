import type { PassReason } from '#model/delivery'
import type { RecordFormat } from '#runtime/actor'

export interface OutboxState {
  tally: OutboxTally
}

/** Since the tenant was made. */
export interface OutboxTally {
  readonly sent: number
  readonly digests: number
  /** Requests that were told in digests. */
  readonly digested: number
  /** Reasons that never were are not there. `lastAt` in Unix ms. */
  readonly failures: Readonly<Partial<Record<PassReason, { readonly count: number; readonly lastAt: number }>>>
}

export const tallyRecord = 'tally'

export const outboxFormats: Readonly<Record<string, RecordFormat>> = {
  [tallyRecord]: { name: 'tally of mails', version: 1, upgrades: {} },
}
