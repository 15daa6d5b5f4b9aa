import { isSignIn, isTokenRefresh, type RouteEntry } from '#api/route-entry'
import { isNonceChallenge } from '#http/authentication'
import type { Answerer, Call, Reply } from '#http/call'
import type { Caller, Principal } from '#model/caller'
import { Problem } from '#model/problem'
import type { Log } from '#runtime/log'
import type { World } from '#runtime/world'

/** The log of the server; a pino logger fits. */
export interface ServerLog extends Omit<Log, 'info'> {
  isLevelEnabled(level: 'debug'): boolean
}

/** After a logged request, further requests are only counted during this time. */
const countingMs = 1000

/**
 * Logs requests that an overloaded server refused (503) or broke off. There may be very many, so the first one is
 * logged, those of the next second are counted, and their number is logged.
 */
export class OverloadLog {
  readonly #world: World
  readonly #log: ServerLog
  readonly #summaryText: string
  #isCounting = false
  #countedRequests = 0

  /** `summaryText`: the log message with the number of counted requests. */
  constructor(world: World, log: ServerLog, summaryText: string) {
    this.#world = world
    this.#log = log
    this.#summaryText = summaryText
  }

  /** `line`: the log entry of a request. */
  add(line: () => object): void {
    if (this.#isCounting) {
      this.#countedRequests++
      return
    }
    this.#log.warn(line(), 'request')
    this.#countForAWhile()
  }

  #countForAWhile(): void {
    this.#isCounting = true
    this.#world.after(countingMs, () => {
      this.#isCounting = false
      if (this.#countedRequests === 0) return
      this.#log.warn({ requests: this.#countedRequests }, this.#summaryText)
      this.#countedRequests = 0
      this.#countForAWhile()
    })
  }
}

/** The most logged origins. They need a limit, because callers choose them. */
const loggedOriginsMax = 100
/** A host name has at most 253 characters. */
const originCharactersMax = 300

/** Logs each refused origin once, with the setting that admits it. */
export class RefusedOrigins {
  readonly #log: ServerLog
  readonly #logged = new Set<string>()

  constructor(log: ServerLog) {
    this.#log = log
  }

  add(text: string): void {
    const origin = text.slice(0, originCharactersMax)
    if (this.#logged.has(origin) || this.#logged.size >= loggedOriginsMax) return
    this.#logged.add(origin)
    this.#log.warn(
      { origin },
      'refused a page of another origin: to admit it, add it to CORS_ORIGINS, or to PUBLIC_URL if it is an address of this server',
    )
  }
}

/** The log of a server's requests. */
export interface RequestLog {
  readonly server: ServerLog
  readonly overloads: OverloadLog
  readonly brokenOff: OverloadLog
  readonly refusedOrigins: RefusedOrigins
  requestId(asked: string): string
  redactPath(path: string): string
}

/** The parts of an exchange that its log entries contain. */
interface LoggedExchange {
  readonly context: { readonly log: RequestLog }
  readonly requestId: string
  readonly method: string
  readonly path: string
  /** The template of its route, if it has one. */
  readonly route: string | undefined
}

export function logBug(exchange: LoggedExchange, error: unknown): void {
  const { server: log } = exchange.context.log
  log.error({ err: error, requestId: exchange.requestId, ...namesOf(exchange) }, 'request failed')
}

/**
 * Logs an answer that was cut off. If the server was overloaded or stopping, this is no bug; any other error is a bug.
 */
export function logAbortedAnswer(exchange: LoggedExchange, error: unknown): void {
  const isTemporary = error instanceof Problem && (error.code === 'overloaded' || error.code === 'stopping')
  if (!isTemporary) logBug(exchange, error)
  else {
    const { requestId } = exchange
    exchange.context.log.brokenOff.add(() => ({ ...namesOf(exchange), brokenOff: error.message, requestId }))
  }
}

/** `body`: the text of the body or its length; undefined when the client disconnected. */
export function logLine(exchange: LoggedExchange, status: number, body: number | string | undefined, ms: number): void {
  const { server: log, overloads } = exchange.context.log
  // 504 means that a device did not answer, which is no fault of the server.
  const isFault = status >= 500 && status !== 504
  if (!isFault && !log.isLevelEnabled('debug')) return
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body
  const line = () => ({ ...namesOf(exchange), status, ms, bytes, requestId: exchange.requestId })
  if (bytes === undefined) log.debug({ ...line(), aborted: true }, 'request aborted')
  else if (status === 503) overloads.add(line)
  else if (isFault) log.error(line(), 'request')
  else log.debug(line(), 'request')
}

function namesOf({ context, method, path, route }: LoggedExchange): { method: string; path: string } {
  return { method, path: route ?? context.log.redactPath(path) }
}

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
