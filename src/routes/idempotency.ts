import { createHash, createHmac } from 'node:crypto'
import { ByteAllowance } from '#access/byte-allowance'
import { type Begun, idempotencyAddress, keyLifetimeMs, type StoredReply } from '#actors/idempotency/idempotency'
import { idempotencyKeyHeader, type RouteEntry } from '#api/route-entry'
import type { BegunRequest, Call, IdempotencyGuard, Reply } from '#http/call'
import { bodyOf, headerOf, replyOf } from '#http/reply'
import type { Caller } from '#model/caller'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'
import { type ActorAddress, addressKey } from '#runtime/actor'
import { checkCurrent } from '#runtime/slices'
import type { System } from '#runtime/system'

/** The limit of concurrent requests with a key; further requests get 503. */
const runningMax = 100_000
/**
 * The limit of a stored answer. It is the default limit of a request, because the answer to a creation is hardly larger
 * than its request.
 */
export const storedBytesMax = 1024 * 1024

/**
 * The limit of disk space for the keys of one user: a million keys without an answer, or 8 000 with an answer of 64
 * KiB. The allowance renews over the 24 hours for which keys are stored, so at most twice as much is stored.
 */
const userBytesMax = 512 * 1024 * 1024
/** A key and its index entry on disk, without the answer. */
const keyBytes = 512

/** Visible ASCII. */
const keyPattern = /^[\x21-\x7e]{1,255}$/

/**
 * Statuses that refuse the content of a request. Such refusals are final, unless they are temporary. Other refusals
 * depend on the caller or the time, so a retry may succeed.
 */
const finalRefusals: ReadonlySet<number> = new Set([400, 404, 409, 422])

export interface IdempotencyLimits {
  readonly runningMax: number
  readonly userBytesMax: number
}

type Proceed = (begun?: BegunRequest) => Reply | Promise<Reply>

/**
 * Executes a request once for each `Idempotency-Key`, in two stored steps: the beginning, before its handler runs, and
 * the answer, before it is sent. A repeated request, even after a crash in between, gets the stored answer. If no
 * answer was stored, the request runs again with the seed of the first attempt, and finds what that attempt created.
 * For a route with secrets nothing is stored: only simultaneous repetitions are refused. Contract 1.10.
 */
export class IdempotentRequests implements IdempotencyGuard {
  readonly #system: System<Entry>
  /** Key of the hashes of requests with secrets: a plain hash would allow guessing a password. */
  readonly #processKey: Uint8Array
  /** The hashes of running requests, by the address of the key. */
  readonly #running = new Map<string, string>()
  readonly #runningMax: number
  readonly #stored: ByteAllowance

  constructor(
    { system, world }: Pick<RouteContext, 'system' | 'world'>,
    limits: IdempotencyLimits = { runningMax, userBytesMax },
  ) {
    this.#system = system
    this.#processKey = world.random(32)
    this.#runningMax = limits.runningMax
    this.#stored = new ByteAllowance({
      now: () => world.monotonic(),
      of: 'answers under an Idempotency-Key',
      bytesMax: limits.userBytesMax,
      perMs: keyLifetimeMs,
    })
  }

  async run(call: Call, entry: RouteEntry, proceed: Proceed): Promise<Reply> {
    const { tenant, user } = call.caller
    // A caller known only by a DPoP proof has no user for whom an Idempotency-Key could be stored.
    if (user === '') return proceed()
    const address = idempotencyAddress(tenant, user, keyOf(call))
    if (entry.isSecret) return this.#alone(address, printOf(call, entry, this.#processKey), proceed)

    const print = printOf(call, entry)
    const full = this.#stored.refusal(call.caller)
    const begin = { type: 'begin', print, isFull: full !== undefined } as const
    const begun = (await this.#system.ask(address, begin)) as Begun
    if (begun.outcome === 'full') throw full ?? new Problem('too_many_requests')
    if (begun.outcome === 'open' && !begun.isRepeated) this.#stored.add(call.caller, keyBytes)
    // The commit took time: the session may have ended meanwhile.
    checkCurrent(call.caller)
    if (begun.outcome === 'other') throw otherRequest()
    if (begun.outcome === 'answered') return repeated(begun.reply)
    // The commit gate has released the answer to `begin`. It releases answers in the order of the turns, so an earlier
    // request with the same key is either running or stored by now.
    return this.#alone(address, print, async () => {
      const reply = await finalReply(() => proceed(begun))
      return isFinal(reply.status) ? this.#keep(address, call.caller, reply) : reply
    })
  }

  /** Refuses another request with the same key while one is running. */
  async #alone(address: ActorAddress, print: string, work: () => Reply | Promise<Reply>): Promise<Reply> {
    const name = addressKey(address)
    const running = this.#running.get(name)
    if (running === print) throw new Problem('conflict', 'a request with this Idempotency-Key is still running')
    if (running !== undefined) throw otherRequest()
    if (this.#running.size >= this.#runningMax) throw new Problem('overloaded')
    this.#running.set(name, print)
    try {
      return await work()
    } finally {
      this.#running.delete(name)
    }
  }

  /** An answer that can be stored is sent only after it is stored, and not if storing fails. */
  async #keep(address: ActorAddress, caller: Caller, reply: Reply): Promise<Reply> {
    if (!mayBeStored(reply)) {
      await this.#system.ask(address, { type: 'forget' }, 0)
      return reply
    }
    const { status, headers, repeatedJson } = reply
    const body = bodyOf(reply)
    const storedBody = repeatedJson === undefined ? body : JSON.stringify(repeatedJson)
    // A larger answer is not stored. A repeated request runs again with the same key and finds what the first one
    // created.
    if (Buffer.byteLength(body) > storedBytesMax) return reply
    const stored: StoredReply = { status, location: headerOf(reply, 'location') ?? null, body: storedBody }
    await this.#system.ask(address, { type: 'finish', reply: stored }, 0)
    this.#stored.add(caller, Buffer.byteLength(storedBody))
    return { status, ...(headers && { headers }), text: body }
  }
}

function keyOf(call: Call): string {
  const key = call.header(idempotencyKeyHeader)
  if (keyPattern.test(key)) return key
  throw new Problem('bad_request', 'an Idempotency-Key has 1 to 255 visible ASCII characters')
}

/** Hash of everything that determines the request: requests with equal hashes are equal. */
function printOf({ target, bodyBytes }: Call, { method }: RouteEntry, processKey?: Uint8Array): string {
  const print = processKey ? createHmac('sha256', processKey) : createHash('sha256')
  // As JSON, so that no character can be mistaken for a separator.
  print.update(JSON.stringify([method, target.path, target.query]))
  return print.update(bodyBytes).digest('base64url')
}

function otherRequest(): Problem {
  return new Problem('unprocessable', 'this Idempotency-Key was used for another request')
}

/** Returns a final refusal as an answer, so that it is stored; other errors are rethrown. */
async function finalReply(proceed: () => Reply | Promise<Reply>): Promise<Reply> {
  try {
    return await proceed()
  } catch (error) {
    if (!(error instanceof Problem) || error.kind.isTemporary || !isFinal(error.kind.status)) throw error
    return replyOf(error, '')
  }
}

function isFinal(status: number): boolean {
  return (status >= 200 && status < 300) || finalRefusals.has(status)
}

function mayBeStored(reply: Reply): boolean {
  if (reply.repeatedJson !== undefined) return true
  return !reply.chunks && !headerOf(reply, 'cache-control')?.includes('no-store')
}

function repeated({ status, location, body }: StoredReply): Reply {
  return { status, ...(location !== null && { headers: { Location: location } }), text: body }
}
