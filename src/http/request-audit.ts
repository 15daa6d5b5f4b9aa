import { isSignIn, isTokenRefresh, type RouteEntry } from '#api/route-entry'
import { isNonceChallenge } from '#http/authentication'
import type { Answerer, Call, Reply } from '#http/call'
import type { Caller, Principal } from '#model/caller'
import { Problem } from '#model/problem'

/** A request as it is recorded. */
export interface AuditedRequest {
  /** The caller, or the user that the client tries to sign in as. Undefined: unknown. */
  readonly user: Principal | Caller | undefined
  readonly address: string
  readonly method: string
  /** The path without its query, which may contain secrets. */
  readonly path: string
  readonly resourceIdentifier: string | undefined
  readonly status: number
}

/** The log of changes and sign-ins. Contract 12, Audit. */
export interface Audit {
  /** The CRN of the resource that the path of a request names. */
  resourceOfPath(entry: RouteEntry, call: Call): string | undefined
  /** The CRN of the resource that the answer names, such as a new resource. */
  resourceOfReply(entry: RouteEntry, call: Call, reply: Reply): string | undefined
  /** Resolves when the request was stored, or could not be stored. Resolves at once for a refused request. */
  add(request: AuditedRequest): Promise<void>
}

/**
 * Whether requests of this route are audited: changes by people and programs, and sign-ins. Reports of devices are not
 * audited, and neither are reads, even those with another method than GET.
 */
export function isAudited(entry: RouteEntry): boolean {
  const { method, access } = entry
  if (method === 'GET') return access === 'none' && isSignIn(entry)
  return access !== 'link' && (typeof access === 'string' || access.action !== 'read')
}

/**
 * Records a request once, whether it succeeds or fails, and even if the client does not wait for the answer. Not
 * recorded are token refreshes that succeed, and challenges for a nonce.
 */
export class RequestAudit {
  readonly #audit: Audit
  readonly #entry: RouteEntry
  readonly #request: Pick<AuditedRequest, 'method' | 'path' | 'address'>
  #user: AuditedRequest['user']
  #isHandled = false
  #stored: Promise<void> | undefined

  /** Call it before the first await, while the address is known. */
  constructor(
    audit: Audit,
    entry: RouteEntry,
    { method, path, forwarded: { address } }: Pick<AuditedRequest, 'method' | 'path'> & Pick<Call, 'forwarded'>,
  ) {
    this.#audit = audit
    this.#entry = entry
    this.#request = { method, path, address }
  }

  /** Sets the user that sent the request, or that its client tries to sign in as. */
  identified(user: Principal): void {
    if (user.user !== '') this.#user = user
  }

  /** Runs the handler, and records its result. Before a reply is sent, it must pass through `whenStored`. */
  async run(call: Call, answer: Answerer): Promise<Reply> {
    this.#isHandled = true
    // Read now, because the handler may delete the resource.
    const resource = this.#audit.resourceOfPath(this.#entry, call)
    try {
      const reply = await answer(call)
      // A token refresh is not a change by a person, and entries of refreshes would soon displace the others.
      if (isTokenRefresh(this.#entry)) return reply
      this.#stored = this.#add(reply.status, this.#audit.resourceOfReply(this.#entry, call, reply) ?? resource)
      return reply
    } catch (error) {
      void this.#add(statusOf(error), resource)
      throw error
    }
  }

  /** Resolves with the reply when the record of the request was stored, or could not be stored. */
  async whenStored(reply: Reply | Promise<Reply>): Promise<Reply> {
    const made = await reply
    await this.#stored
    return made
  }

  /**
   * Records a request that was refused before its handler ran; other errors are recorded already. A challenge for a
   * nonce is not recorded, because the client repeats the request with the nonce.
   */
  refused(error: unknown): void {
    if (this.#isHandled || isNonceChallenge(error)) return
    this.#isHandled = true
    void this.#add(statusOf(error), undefined)
  }

  #add(status: number, resourceIdentifier: string | undefined): Promise<void> {
    return this.#audit.add({ ...this.#request, user: this.#user, resourceIdentifier, status })
  }
}

export function statusOf(error: unknown): number {
  return error instanceof Problem ? error.kind.status : 500
}
