import type { RouteEntry } from '#api/route-entry'
import type { Answerer, Call, Reply } from '#http/call'

/**
 * Makes sure that a request repeated under the same `Idempotency-Key` takes effect once. Contract 1.10.
 *
 * It is used for requests that have the header, on routes that change something for an authenticated caller, after all
 * other checks, which give a repeated request the same errors anyway.
 */
export interface IdempotencyGuard {
  /**
   * Returns the answer of `proceed`, or its stored answer if the request came before. `proceed` gets a call with the
   * seed of the key, and never runs twice at a time for a key.
   * @throws Problem of `proceed`; `bad_request` for an invalid key, `conflict` while the same request runs,
   * `unprocessable` if the key belongs to another request, `overloaded`, `storage`
   */
  run(call: Call, entry: RouteEntry, proceed: Answerer): Promise<Reply>
}
