import type { PassReason } from '#model/delivery'

/** Told by subscribers, in the commit that says what became of a mail. Absent numbers are 0. */
export interface CountMails {
  readonly type: 'count'
  /** Digests are not among them. */
  readonly sent?: number
  readonly digests?: number
  /** Requests that were told in digests. */
  readonly digested?: number
  /** Requests that were told to somebody in no way. */
  readonly passed?: { readonly reason: PassReason; readonly count: number }
}

export type OutboxCommand = CountMails
