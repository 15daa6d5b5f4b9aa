import type { SkipReason } from '#model/delivery'

/** Sent by subscribers, in the commit that records the outcome of a mail. Absent numbers are 0. */
export interface CountMails {
  readonly type: 'count'
  /** Without digests. */
  readonly sent?: number
  readonly digests?: number
  /** Requests that were mailed in digests. */
  readonly digested?: number
  /** Requests that were never mailed to a subscriber. */
  readonly passed?: { readonly reason: SkipReason; readonly count: number }
}

export type OutboxCommand = CountMails
