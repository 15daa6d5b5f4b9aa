/** Counts since the process started. */
export interface FunctionCounts {
  runs: number
  /** Conditions that failed, and triggers that were not run because the share of their author was used up. */
  errors: number
  /** Requests of mails that were stored. */
  requests: number
  /** Requests of mails that were only counted, because the rate or the share of the turn was used up. */
  overflown: number
  /** Requested webhooks that were dropped, because the rate or the share of the turn was used up. */
  webhooksDropped: number
}

export function noFunctionCounts(): FunctionCounts {
  return { runs: 0, errors: 0, requests: 0, overflown: 0, webhooksDropped: 0 }
}
