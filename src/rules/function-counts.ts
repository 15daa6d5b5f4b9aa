/** Counts since the process started. */
export interface FunctionCounts {
  runs: number
  /** Conditions without a result. */
  errors: number
  /** Requests of mails. */
  requests: number
  /** Requests of mails that were only counted. */
  overflown: number
  /** Webhooks beyond the rate. */
  webhooksDropped: number
}

export function noFunctionCounts(): FunctionCounts {
  return { runs: 0, errors: 0, requests: 0, overflown: 0, webhooksDropped: 0 }
}
