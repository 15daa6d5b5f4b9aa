import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { BodyPace, BodyReader } from '#http/body-reader'
import { ReceivedBody, RequestEnded } from '#http/body-stream'
import type { BodyStream, Reply } from '#http/call'
import type { RouteMetrics } from '#http/http-metrics'
import { addressText, type OriginVerdict } from '#http/origins'
import type { PendingRequest } from '#http/pending-requests'
import { bugReply, isPromiseLike, refuseUnsafe, replyOf, writeReply } from '#http/reply'
import { type BodyLength, type RequestHeaders, readFraming, readHeaders } from '#http/request-head'
import { logAbortedAnswer, logBug, logLine, type RequestAudit } from '#http/request-log'
import type { ServerContext } from '#http/server-context'
import type { Caller } from '#model/caller'
import type { ForwardedRequest } from '#model/forwarded-request'
import { Problem } from '#model/problem'

/** Up to this many missing bytes of a body are dropped after the answer; if more are missing, the connection closes. */
const drainBytesMax = 16 * 1024 * 1024
/** Before the answer to an unfinished chunked body, up to this much more of it is dropped, for at most this time. */
const lingerBytesMax = 1024 * 1024
const lingerMs = 1000
/** How long a sender is paused before it gets the answer, and its connection is closed. */
const holdMs = 500

/**
 * One request and its answer, from the call of the parser until the last byte is written or the client disconnects.
 *
 * Obligations: in every case exactly one answer begins or the connection closes; after a disconnect, and after the last
 * byte, uWebSockets.js's response is never used again (it would throw, or worse); no exception leaves this class (it
 * would end the process).
 */
export class Exchange implements PendingRequest {
  readonly since: number
  waitsSince: number
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: RequestHeaders
  readonly requestId: string
  readonly origin: OriginVerdict
  readonly context: ServerContext
  readonly framingFault: string | undefined
  readonly bodyLength: BodyLength
  route: string | undefined
  /** The metrics of the route. Until a route is found, those of requests without a route. */
  metrics: RouteMetrics
  caller: Caller | undefined
  hasBegun = false
  /** Called with an error before the error is answered. Returns true if the callback answers the request itself. */
  onFailure: ((error: unknown) => boolean) | undefined
  audit: RequestAudit | undefined
  readonly extraHeaders: string[] = []
  #response: HttpResponse | undefined
  #isInHandler = true
  /** The parser closes the connection after the last byte of the answer. */
  readonly #isClosing: boolean
  /** The connection may be closed at this moment. */
  #isReadyToClose = false
  /** The connection is about to be closed before the end of the answer. */
  #isBroken = false
  #reader: BodyReader | undefined
  #bodyBytesMax: number
  #aborter: AbortController | undefined
  #remoteAddress: string | undefined
  #forwarded: ForwardedRequest | undefined
  #status = 0
  readonly #disconnectTasks: (() => void)[] = []

  constructor(context: ServerContext, response: HttpResponse, request: HttpRequest) {
    response.onAborted(() => this.#disconnected())
    this.#response = response
    this.context = context
    this.metrics = context.metrics.unrouted
    this.since = context.world.monotonic()
    this.waitsSince = this.since
    this.method = request.getCaseSensitiveMethod()
    this.path = request.getUrl()
    this.query = request.getQuery() ?? ''
    this.headers = readHeaders(request)
    this.requestId = context.log.requestId(this.headers.get('x-request-id'))
    const { cors, forwarding } = context.origins
    const origin = this.headers.get('origin')
    this.origin = cors.verdictOf(origin, origin === '' ? '' : forwarding.ownOrigin(this.headers))
    // The parser closes after any `Connection` header of five characters, because it only checks the length.
    this.#isClosing = request.getHeader('connection').length === 5 || closing.test(this.headers.get('connection'))
    const framing = readFraming(this.headers)
    this.framingFault = 'fault' in framing ? framing.fault : undefined
    this.bodyLength = 'bodyLength' in framing ? framing.bodyLength : 0
    this.#bodyBytesMax = context.limits.bodyBytesMax
    if (this.bodyLength !== 0) {
      // Must run before the first await: chunks without a reader are lost.
      this.#reader = new BodyReader(response, context.limits.bodyBytesMax, (task) => this.guard(task))
    }
  }

  header(name: string): string {
    return this.headers.get(name)
  }

  headerCount(name: string): number {
    return this.headers.count(name)
  }

  get remoteAddress(): string {
    this.#remoteAddress ??= this.#response ? addressText(this.#response.getRemoteAddress()) : ''
    return this.#remoteAddress
  }

  /** Created on first use, because most routes do not need it. */
  get forwarded(): ForwardedRequest {
    this.#forwarded ??= this.context.origins.forwarding.requestOf(this.headers, () => this.remoteAddress)
    return this.#forwarded
  }

  /** Created on first use: most answers are complete before a client could disconnect. */
  get signal(): AbortSignal {
    this.#aborter ??= new AbortController()
    if (!this.isOpen) this.#aborter.abort()
    return this.#aborter.signal
  }

  get isOpen(): boolean {
    return this.#response !== undefined && !this.hasBegun
  }

  get isDisconnected(): boolean {
    return this.#response === undefined || this.#isBroken
  }

  addReplyHeader(name: string, value: string): void {
    refuseUnsafe(name, value)
    this.extraHeaders.push(name, value)
  }

  guard(step: () => void): void {
    try {
      step()
    } catch (error) {
      this.fail(error)
    }
  }

  /** Runs the step with a value: now if it is available, otherwise when its promise is fulfilled. */
  proceed<T>(value: T | PromiseLike<T>, step: (value: T) => void): void {
    if (!isPromiseLike(value)) {
      step(value)
      return
    }
    value.then(
      (resolved) => this.guard(() => step(resolved)),
      (error: unknown) => this.fail(error),
    )
  }

  /** Sets the size limit of the body, and whether the body is needed. Call before the first await. */
  expectBody(bytesMax: number, isNeeded: boolean): void {
    this.#bodyBytesMax = bytesMax
    this.#reader?.limit(bytesMax)
    if (!isNeeded) this.#reader?.discard()
  }

  /**
   * Runs the step when the body has arrived or has exceeded its limit, or at once if its declared length is too large.
   * If the exchange ends before, the step does not run. `read` returns the body, or throws Problem `too_large`.
   * `isKept`: the body may be read again.
   */
  readBody(step: (read: () => Uint8Array) => void, isKept = false): void {
    const read = (bytes?: Uint8Array) => () => {
      if (!bytes) throw this.#tooLarge()
      return bytes
    }
    if (!this.#reader) step(read(noBytes))
    else if (this.#isTooLong) step(read())
    else this.#reader.whenSettled((bytes) => this.isOpen && step(read(bytes)), isKept)
  }

  /** @throws Problem `too_large` if the declared length exceeds the limit of the route */
  refuseTooLong(): void {
    if (this.#isTooLong) throw this.#tooLarge()
  }

  /** Call before the first await. An unread body pauses its sender. Each piece renews the deadline of the request. */
  streamBody(stillPermitted: () => Caller): BodyStream {
    const stream = new ReceivedBody({
      lengthBytes: this.bodyLength === 'chunked' ? undefined : this.bodyLength,
      allUnread: this.context.load.allUnread,
      hold: () => this.#reader?.hold(this.#response),
      release: () => this.#reader?.release(this.#response, this.context.world.monotonic()),
      progressed: () => this.context.load.pending.renew(this),
      stillPermitted,
    })
    if (this.#reader) this.#reader.stream(stream, () => this.#tooLarge())
    else stream.finish()
    return stream
  }

  /** `isCutting`: no more data of this connection may be read. */
  respond(reply: Reply, isCutting = false): void {
    if (!this.isOpen) {
      this.#discardReply(reply)
      return
    }
    const reader = this.#reader
    // No code reads the body after the answer. If the client was paused, this resumes it, so that it can send other
    // requests.
    reader?.discard()
    if (isCutting) writeReply(this, reply, true)
    else if (reader && this.bodyLength === 'chunked') this.#respondLast(reader, reply)
    else if (this.#isClosing && !this.#isReadyToClose && !reply.chunks) {
      // The answer is sent one tick later. Until then the parser reads no other request from the packet. RFC 9112 §9.6.
      // Streamed answers always begin in a later tick. They must not pause the connection: the parser would close it if
      // the first chunk took more than ten seconds.
      this.closeInNextTick(() => this.respond(reply))
    } else if (reader && Number(this.bodyLength) - reader.receivedBytes > drainBytesMax)
      this.#pauseThenCut(reader, reply)
    else writeReply(this, reply, false)
  }

  /** Answers a `Problem` with its status. Answers any other error with 500, and logs it in full. */
  fail(error: unknown, isCutting = false): void {
    // The handler failed only because the body was cut off.
    if (error instanceof RequestEnded && !this.isOpen) return
    if (this.isOpen && this.onFailure?.(error)) return
    this.audit?.refused(error)
    const isRefusal = error instanceof Problem && error.code !== 'bug'
    this.context.metrics.refusals[isRefusal ? error.code : 'bug']++
    if (this.hasBegun) {
      logAbortedAnswer(this, error)
      // Bytes were sent: only a closed connection shows the client that the answer is incomplete.
      this.close()
    } else {
      if (!isRefusal) logBug(this, error)
      this.#closeOnError(() => {
        this.respond(isRefusal ? replyOf(error, this.headers.get('sec-fetch-mode')) : bugReply, isCutting)
      })
    }
  }

  expire(): void {
    this.fail(new Problem('overloaded', 'the answer took too long'), this.#reader?.hasLast === false)
    this.#aborter?.abort()
  }

  /** Closes the connection soon; no more bytes are written. */
  close(): void {
    this.#isBroken = true
    this.context.world.asInput(() => this.#response?.close())
  }

  /**
   * Runs a step one tick later, when it may close the connection. Until then no data is read from the connection.
   * Otherwise, if a client closed its sending side after the request, the parser would see this and close the
   * connection without an answer.
   */
  closeInNextTick(step: () => void): void {
    this.#response?.pause()
    this.context.world.asInput(() => {
      this.#response?.resume()
      this.#isReadyToClose = true
      this.guard(step)
      this.#isReadyToClose = false
    })
  }

  /** Resolves when the last byte of the answer may be written. Undefined: it may be written now. */
  readyToClose(): Promise<void> | undefined {
    return this.#isClosing ? this.outsideParser() : undefined
  }

  /** Resolves outside of the parser's cork, where bytes are sent separately and the connection may be closed. */
  outsideParser(): Promise<void> {
    return new Promise((resolve) => this.context.world.asInput(resolve))
  }

  /** Runs the task when the client disconnects before the answer is complete; at once after the end of the exchange. */
  onDisconnect(task: () => void): void {
    if (this.#response) this.#disconnectTasks.push(task)
    else task()
  }

  /** Call when the handler has returned. Then the request is pending, and the parser no longer corks the response. */
  leaveHandler(): void {
    this.#isInHandler = false
    if (!this.#response) return
    this.context.load.pending.add(this)
    this.#reader?.watch(new BodyPace(this, this.context.load.receiving), this.since)
  }

  /** Writes in one packet. Does nothing after a disconnect. */
  write(task: (response: HttpResponse) => void): void {
    const response = this.#response
    if (!response || this.#isBroken) return
    if (this.#isInHandler) task(response)
    else response.cork(() => this.guard(() => task(response)))
  }

  /**
   * Runs the task that turns the response into a websocket. The task is not corked, because uWebSockets.js reads the
   * response once more after a cork. If the websocket was allocated at the same address, its data may be read as a
   * request to close. (Observed: every second socket that was opened later closed within milliseconds, with 1006.)
   */
  upgrade(task: (response: HttpResponse) => void): void {
    const response = this.#response
    if (response) this.guard(() => task(response))
  }

  begin(status: number): void {
    this.hasBegun = true
    this.#status = status
  }

  /** The last byte of the answer was written, or the connection becomes a websocket. */
  finish(body: number | string): void {
    this.#response = undefined
    this.#reader?.unwatch()
    this.context.load.pending.remove(this)
    const ms = this.context.world.monotonic() - this.since
    this.metrics.answered(this.#status, ms)
    logLine(this, this.#status, body, ms)
  }

  get #isTooLong(): boolean {
    return this.bodyLength !== 'chunked' && this.bodyLength > this.#bodyBytesMax
  }

  #tooLarge(): Problem {
    return new Problem('too_large', `the body is larger than ${this.#bodyBytesMax} bytes`)
  }

  /**
   * The answer to a chunked body is the last of its connection: the parser accepts invalid chunks (security.md), so no
   * data after them may be read as a request. First, the rest of the body is received and dropped for a short time, for
   * clients that have almost sent it. Then the parser reads no data until the answer is written one tick later, and
   * closes the connection.
   */
  #respondLast(reader: BodyReader, reply: Reply): void {
    let isAnswered = false
    const answer = () => {
      if (isAnswered) return
      isAnswered = true
      cancel()
      if (reader.hasLast) this.closeInNextTick(() => this.respond(reply, true))
      else this.#pauseThenCut(reader, reply)
    }
    const cancel = this.context.world.after(lingerMs, answer)
    if (reader.hasLast) answer()
    else reader.drain(lingerBytesMax, answer)
  }

  /**
   * Pauses the sender, then answers and closes. Closing the connection of a client that is still writing resets it, and
   * the failed write hides the answer from the client. While the sender is paused, its buffers fill, and a client that
   * waits to write also reads the answer. RFC 9112 §9.6.
   */
  #pauseThenCut(reader: BodyReader, reply: Reply): void {
    reader.hold(this.#response)
    this.context.world.after(holdMs, () => this.guard(() => this.respond(reply, true)))
  }

  #disconnected(): void {
    const hasBegun = this.hasBegun
    this.#response = undefined
    this.#reader?.cut()
    this.context.load.pending.remove(this)
    this.#closeOnError(() => {
      this.#aborter?.abort()
      for (const task of this.#disconnectTasks) task()
      this.metrics.aborted()
      logLine(this, hasBegun ? this.#status : 0, undefined, this.context.world.monotonic() - this.since)
    })
  }

  /** Runs a task that handles an error; if this task fails too, the connection is closed. */
  #closeOnError(task: () => void): void {
    try {
      task()
    } catch (error) {
      logBug(this, error)
      this.close()
    }
  }

  #discardReply(reply: Reply): void {
    // Other iterators than generators may hold resources before their first chunk, so the iterator is closed.
    if (reply.chunks)
      void reply.chunks[Symbol.asyncIterator]()
        .return?.()
        ?.catch((error) => logBug(this, error))
  }
}

const noBytes = new Uint8Array(0)
const closing = /(?:^|,)\s*close\s*(?:,|$)/i
