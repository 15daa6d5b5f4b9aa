import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { idempotencyKeyHeader, isSignIn, type RouteEntry, signInBytesMax, takesIdempotencyKey } from '#api/route-entry'
import { type Authenticate, permit, tokenProblem } from '#http/authentication'
import type { BegunRequest, Binding, BodyStream, Call, Reply } from '#http/call'
import { Exchange } from '#http/exchange'
import type { RouteMetrics } from '#http/http-metrics'
import { allowedHeaders, preflightMaxAgeS } from '#http/origins'
import { answerByOwner } from '#http/owner-answer'
import { isPromiseLike } from '#http/reply'
import { isContentType, isJsonType, type PathMatch, type PathTable, parseQuery } from '#http/request-head'
import { isAudited, RequestAudit } from '#http/request-log'
import type { BodyLimits, ServerContext } from '#http/server-context'
import { parseJson, validate } from '#http/validation'
import { type Caller, type Principal, unauthenticated } from '#model/caller'
import type { ForwardedRequest } from '#model/forwarded-request'
import { seedBytes } from '#model/identifier'
import { Problem } from '#model/problem'

/** The destination of a request. A plain request to the path of a socket gets an answer that explains the upgrade. */
export type Destination =
  | { readonly template: string; readonly metrics: RouteMetrics; readonly binding: Binding }
  | 'socket'

const defaultContentTypes = ['application/json']
/**
 * A larger body is parsed, checked and handled in separate tasks of the event loop: for 1 MiB, each may take 15 ms.
 */
const oneTaskBytesMax = 64 * 1024
const noBytes = new Uint8Array(0)

/** A request with its route, and the parameters of its path as sent. */
interface RoutedRequest {
  readonly exchange: Exchange
  readonly binding: Binding
  readonly raw: PathMatch<Destination>['rawParameters']
}

/** Runs a handler and answers its exceptions: if they left this function, they would end the process. */
export function openExchange(
  context: ServerContext,
  response: HttpResponse,
  request: HttpRequest,
  handle: (exchange: Exchange) => void,
): void {
  let exchange: Exchange | undefined
  try {
    exchange = new Exchange(context, response, request)
    handle(exchange)
  } catch (error) {
    if (exchange) exchange.fail(error)
    else {
      context.log.server.error({ err: error }, 'reading a request failed')
      response.close()
    }
  }
  exchange?.leaveHandler()
}

/**
 * Returns false, and answers, if the framing of the request is ambiguous.
 * @throws Problem `forbidden` for a page of a refused origin, `misdirected` for a host that is not allowed
 */
export function isAcceptable(exchange: Exchange, kind: 'request' | 'upgrade'): boolean {
  const { framingFault } = exchange
  if (framingFault !== undefined) {
    refuseAndCut(exchange, framingFault)
    return false
  }
  // The node that the client is connected to has checked origin and host.
  if (exchange.context.otherNodes?.isFromNode(exchange.headers)) return true
  const { cors, forwarding } = exchange.context.origins
  const origin = isForeignFetch(exchange) ? 'foreign' : exchange.origin
  // Logged even if the request is permitted: the browser then keeps the answer from the page.
  if (exchange.origin === 'foreign') exchange.context.log.refusedOrigins.add(exchange.headers.get('origin'))
  if (cors.isRefused(origin, kind)) throw new Problem('forbidden')
  if (cors.allowedHosts) {
    for (const host of forwarding.hosts(exchange.headers))
      if (!cors.allowedHosts.has(host)) throw new Problem('misdirected')
  }
  return true
}

/**
 * Without an `Origin`, the headers `Sec-Fetch-…` show a request from a page of another site: browsers send no `Origin`
 * for images, or for a `fetch` whose answer the page cannot read. Links from other sites to this server are permitted.
 * W3C Fetch Metadata §2.
 */
function isForeignFetch({ origin, headers }: Exchange): boolean {
  const site = headers.get('sec-fetch-site')
  if (origin !== 'none' || site === '' || site === 'same-origin' || site === 'none') return false
  return headers.get('sec-fetch-mode') !== 'navigate' || headers.get('sec-fetch-dest') !== 'document'
}

/**
 * Refuses a request with an ambiguous end, one tick later. After an answer in this tick, the parser would read the next
 * request from the same packet, which is the smuggled one, before it closes the connection. While this request waits,
 * the parser reads no other request.
 */
export function refuseAndCut(exchange: Exchange, message: string): void {
  exchange.closeInNextTick(() => exchange.fail(new Problem('bad_request', message), true))
}

/**
 * Handles every request, except upgrades to websockets. The order of the steps is part of the contract: framing, origin
 * and host, path (404 before any check of the caller), method, authentication, permission, path parameters, whether a
 * grant includes the names in the path, query, body, idempotency key, answer.
 */
export function receive(exchange: Exchange, paths: PathTable<Destination>, authenticate: Authenticate): void {
  if (!isAcceptable(exchange, 'request')) return
  const match = paths.match(exchange.method, exchange.path)
  if (!match) throw exchange.context.notFound(exchange.path)
  if (exchange.method === 'OPTIONS') {
    exchange.respond(optionsReply(exchange, match.allow))
    return
  }
  if (!('binding' in match)) {
    throw new Problem('method_not_allowed', undefined, { headers: { Allow: match.allow.join(', ') } })
  }
  const { binding: destination } = match
  if (destination === 'socket') {
    exchange.respond(upgradeRequired)
    return
  }

  exchange.route = destination.template
  exchange.metrics = destination.metrics
  const { binding } = destination
  const { entry } = binding
  const { body } = entry
  if (!body && exchange.bodyLength === 'chunked') {
    // Some of these routes stream their answer, and the connection cannot be closed after a streamed answer.
    throw new Problem('bad_request', 'a body in chunks where none is expected')
  }
  exchange.expectBody(bytesMaxOf(exchange.context.limits, entry), body !== undefined)
  const routed: RoutedRequest = { exchange, binding, raw: match.rawParameters }
  const upload = body?.isStreamed ? exchange.streamBody(() => stillPermitted(routed)) : undefined
  const { otherNodes, audit } = exchange.context
  if (audit && isAudited(entry)) exchange.audit = new RequestAudit(audit, entry, exchange)
  const answerHere = () => authenticated(routed, upload, authenticate)
  if (otherNodes) answerByOwner(exchange, otherNodes, binding, upload, answerHere)
  else answerHere()
}

function authenticated(routed: RoutedRequest, upload: BodyStream | undefined, authenticate: Authenticate): void {
  const { exchange, binding } = routed
  const { access } = binding.entry
  if (exchange.caller) {
    // This node has tried to answer the request before, and authenticated the caller then.
    answer(routed, stillPermitted(routed), upload)
    return
  }
  exchange.proceed(access === 'none' ? unauthenticated : authenticate(exchange, access), (caller) => {
    // The request may have ended during a signature check: aborted, or past its deadline.
    if (!exchange.isOpen) return
    exchange.audit?.identified(caller)
    const { requests, work, pending } = exchange.context.load
    requests.check(caller)
    work.check(caller)
    exchange.caller = caller
    pending.callerKnown(exchange)
    answer(routed, caller, upload)
  })
}

function bytesMaxOf({ bodyBytesMax, streamedBytesMax }: BodyLimits, entry: RouteEntry): number {
  if (isSignIn(entry)) return Math.min(signInBytesMax, bodyBytesMax)
  return entry.body?.bytesMax ?? (entry.body?.isStreamed ? streamedBytesMax : bodyBytesMax)
}

/** The answer to a request for a websocket that is no valid handshake. */
export const upgradeRequired = {
  status: 426,
  headers: { Upgrade: 'websocket', Connection: 'Upgrade', 'Sec-WebSocket-Version': '13' },
  json: { error: 'Upgrade Required' },
}

function optionsReply(exchange: Exchange, allow: readonly string[]) {
  const methods = allow.join(', ')
  const isPreflight = exchange.origin === 'allowed' && exchange.header('access-control-request-method') !== ''
  return {
    status: 204,
    headers: {
      Allow: methods,
      ...(isPreflight && {
        'Access-Control-Allow-Methods': methods,
        'Access-Control-Allow-Headers': allowedHeaders,
        'Access-Control-Max-Age': String(preflightMaxAgeS),
      }),
    },
  }
}

function answer(routed: RoutedRequest, caller: Caller, upload: BodyStream | undefined): void {
  const { exchange, binding } = routed
  const { entry } = binding
  const parameters = parametersOf(routed, caller)
  const contentType = exchange.header('content-type')
  const expectedTypes = entry.body?.contentTypes ?? defaultContentTypes
  const query = countingRefusals(exchange, entry, () => {
    const rawQuery = parseQuery(exchange.query)
    const query = entry.query ? validate(entry.query, rawQuery) : rawQuery
    if (
      expectedTypes !== 'any' &&
      entry.body &&
      exchange.bodyLength !== 0 &&
      !isContentType(contentType, expectedTypes)
    ) {
      throw new Problem('unsupported_media_type')
    }
    return query
  })
  if (upload) {
    exchange.refuseTooLong()
    const call = new ExchangeCall(exchange, caller, { parameters, query, body: undefined, bodyBytes: noBytes, upload })
    exchange.proceed(answerOnce(exchange, binding, call), (reply) => exchange.respond(reply))
    return
  }
  const isJson = expectedTypes !== 'any' && isJsonType(contentType)
  exchange.readBody((read) => {
    const { bytes, raw } = countingRefusals(exchange, entry, () => {
      const bytes = read()
      // An empty body is undefined, so that a schema decides whether it may be left out.
      return { bytes, raw: bytes.byteLength === 0 ? undefined : isJson ? parseJson(bytes) : bytes }
    })
    inOwnTask(exchange, bytes, () => {
      const { identified, answering } = withIdentifiers(binding, caller, raw)
      const body =
        answering === binding
          ? countingRefusals(exchange, entry, () => entry.body && validate(entry.body.schema, identified))
          : undefined
      inOwnTask(exchange, bytes, () => {
        const now = stillPermitted(routed)
        const call = new ExchangeCall(exchange, now, { parameters, query, body, bodyBytes: bytes, upload: undefined })
        exchange.proceed(answerOnce(exchange, answering, call), (reply) => exchange.respond(reply))
      })
    })
  }, exchange.context.otherNodes !== undefined)
}

/**
 * Replaces names in the body by identifiers. Returns the body and the binding that answers. If a name is unknown, only
 * the handler of this binding refuses it. So a repeated request gets its stored answer, even if names have changed
 * since.
 */
function withIdentifiers(binding: Binding, caller: Caller, raw: unknown): { identified: unknown; answering: Binding } {
  try {
    return { identified: binding.resolve ? binding.resolve(caller, raw) : raw, answering: binding }
  } catch (error) {
    const answer = () => {
      throw error
    }
    return { identified: raw, answering: { ...binding, answer } }
  }
}

/** Runs a step for a body now, or for a large body in a later task of the event loop. */
function inOwnTask(exchange: Exchange, { byteLength }: Uint8Array, step: () => void): void {
  if (byteLength <= oneTaskBytesMax) step()
  else exchange.context.world.soon(() => exchange.isOpen && exchange.guard(step))
}

/**
 * Runs a step that refuses malformed requests. On sign-in routes, a refusal counts as a failed attempt of the client
 * address. @throws errors of `step`, or 429
 */
function countingRefusals<T>(exchange: Exchange, entry: RouteEntry, step: () => T): T {
  try {
    return step()
  } catch (error) {
    if (error instanceof Problem && isSignIn(entry)) exchange.context.failedSignIn(exchange.forwarded.address)
    throw error
  }
}

/**
 * The parsed parameters of a path, after the permission check.
 * @throws Problem as `permit` does; `invalid` for malformed parameters if the route shows their faults
 */
function parametersOf({ binding, raw }: RoutedRequest, caller: Caller): unknown {
  const { access, parameters: schema, areParameterFaultsShown } = binding.entry
  if (schema && areParameterFaultsShown) {
    permit(access, caller, raw)
    return validate(schema, raw)
  }
  const parameters = schema ? schema.safeParse(raw).data : raw
  permit(access, caller, parameters)
  return parameters
}

/**
 * The caller with present permissions. A body may take a long time to arrive: callers that were signed out meanwhile
 * are refused, and changed permissions apply.
 */
function stillPermitted(routed: RoutedRequest): Caller {
  const { caller = unauthenticated } = routed.exchange
  if (caller.isCurrent()) return caller
  const now = caller.now()
  if (!now) throw sessionOver(routed.exchange.header('authorization'))
  parametersOf(routed, now)
  return now
}

function sessionOver(authorization: string): Problem {
  if (authorization === '') return new Problem('unauthorized', 'invalid API key')
  return tokenProblem('session over', /^dpop/i.test(authorization) ? 'DPoP' : 'Bearer')
}

/**
 * Answers a request once for each `Idempotency-Key`. Without a key, and for reads, the handler is called directly; if
 * there is no audit either, this makes no promise. The request counts as work of its caller until the reply is made.
 */
function answerOnce(exchange: Exchange, { entry, answer }: Binding, call: ExchangeCall): Reply | Promise<Reply> {
  const { context, audit } = exchange
  const proceed = (begun?: BegunRequest) => {
    if (begun) call.continue(begun)
    return audit ? audit.run(call, answer) : answer(call)
  }
  // An empty key counts too: `idempotency` refuses it as invalid.
  const isKeyed = takesIdempotencyKey(entry) && exchange.headerCount(idempotencyKeyHeader) > 0
  // The audit is inside `proceed`, so a repeated request that gets its stored answer is not recorded again.
  const reply = isKeyed && context.idempotency ? context.idempotency.run(call, entry, proceed) : proceed()
  const made = audit ? audit.whenStored(reply) : reply
  if (!isPromiseLike(made)) return made
  const { work } = context.load
  const leave = () => work.leave(call.caller)
  work.enter(call.caller)
  made.then(leave, leave)
  return made
}

/**
 * The call of a handler. It is a class and not a literal, because values that most handlers never use (signal, address,
 * seed) are only made on first use.
 */
class ExchangeCall implements Call {
  readonly caller: Caller
  readonly parameters: unknown
  readonly query: unknown
  readonly body: unknown
  readonly bodyBytes: Uint8Array
  readonly upload: BodyStream | undefined
  readonly target: Call['target']
  readonly requestId: string
  isRepeated = false
  readonly #exchange: Exchange
  #seed: Uint8Array | undefined

  constructor(
    exchange: Exchange,
    caller: Caller,
    input: Pick<Call, 'parameters' | 'query' | 'body' | 'bodyBytes' | 'upload'>,
  ) {
    this.#exchange = exchange
    this.target = exchange
    this.requestId = exchange.requestId
    this.caller = caller
    this.parameters = input.parameters
    this.query = input.query
    this.body = input.body
    this.bodyBytes = input.bodyBytes
    this.upload = input.upload
  }

  header(name: string): string {
    return this.#exchange.header(name)
  }

  identified(user: Principal): void {
    this.#exchange.audit?.identified(user)
  }

  get remoteAddress(): string {
    return this.#exchange.remoteAddress
  }

  get forwarded(): ForwardedRequest {
    return this.#exchange.forwarded
  }

  get signal(): AbortSignal {
    return this.#exchange.signal
  }

  get seed(): Uint8Array {
    this.#seed ??= this.#exchange.context.world.random(seedBytes)
    return this.#seed
  }

  /** Continues a request that is stored under its `Idempotency-Key`. */
  continue({ seed, isRepeated }: BegunRequest): void {
    this.#seed = seed
    this.isRepeated = isRepeated
  }
}
