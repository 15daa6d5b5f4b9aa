import type { RouteEntry } from '#api/entry'
import type { Answerer, Call, Reply } from '#http/call'

/**
 * Sees to it that a request which comes again under the same `Idempotency-Key` is done once. Contract 1.10.
 *
 * Asked for requests that have the header, on routes that change something for somebody who is known, after everything
 * that refuses before the answerer: such refusals come again by themselves.
 */
export interface IdempotencyGuard {
  /**
   * What `proceed` answers to the call, or what it answered when the request came before. `proceed` is handed a call with
   * the seed that belongs to the key, and runs only while nobody else runs under it.
   * @throws Problem what `proceed` threw; `bad_request` for a key that cannot be one, `conflict` while the same request
   * runs, `unprocessable` when the key stands for another one, `overloaded`, `storage`
   */
  run(call: Call, entry: RouteEntry, proceed: Answerer): Promise<Reply>
}
