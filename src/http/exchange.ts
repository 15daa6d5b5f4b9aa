import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { BodyPace } from '#http/body-pace'
import { BodyReader } from '#http/body-reader'
import { Gone, ReceivedBody } from '#http/body-stream'
import type { BodyStream, Reply } from '#http/call'
import type { OriginVerdict } from '#http/cors'
import { logBrokenOff, logBug, logLine } from '#http/exchange-log'
import { type BodyLength, readFraming } from '#http/framing'
import type { RouteFigures } from '#http/http-figures'
import type { Waiting } from '#http/pending'
import { isPromiseLike } from '#http/promise-like'
import { addressText } from '#http/remote-address'
import { bugReply, replyOf } from '#http/reply'
import { type RequestHeaders, readHeaders } from '#http/request-headers'
import type { ServerContext } from '#http/server-context'
import { streamReply } from '#http/stream-reply'
import { refuseUnsafe, writeReply } from '#http/write-reply'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import type { Seen } from '#model/seen'

/** A body that nobody reads is thrown away up to here as it comes; a larger one costs the connection. */
const drainBytesMax = 16 * 1024 * 1024
/** The same for a body of unknown length: refused, then given this much and this long to end. */
const lingerBytesMax = 1024 * 1024
const lingerMs = 1000
/** Who is cut off while he sends is held back for so long first. */
const holdMs = 500

/**
 * One request and its answer, from the parser's call until the last byte is handed over or the other side is gone.
 *
 * Obligations: whatever happens, exactly one answer begins or the connection closes; after the other side went away, and
 * after the last byte, uWebSockets.js's response is never touched again (it would throw, or worse); nothing thrown
 * inside gets out (it would end the process).
 */
export class Exchange implements Waiting {
  /** When it came. */
  readonly since: number
  waitsSince: number
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: RequestHeaders
  readonly requestId: string
  readonly origin: OriginVerdict
  readonly context: ServerContext
  /** Why the request's end is not certain. */
  readonly framingFault: string | undefined
  readonly bodyLength: BodyLength
  /** The route's template, for the log. */
  route: string | undefined
  /** Where it is counted, and for whom. */
  figures: RouteFigures
  caller: Caller | undefined
  hasBegun = false
  /** Added to whatever is answered. */
  readonly extraHeaders: string[] = []
  #response: HttpResponse | undefined
  #isInHandler = true
  /** The parser closes behind the answer's last byte. */
  readonly #isClosing: boolean
  /** Here and now a connection may be closed. */
  #isReadyToClose = false
  /** It is about to be broken off. */
  #isBroken = false
  #reader: BodyReader | undefined
  #bodyBytesMax: number
  #aborter: AbortController | undefined
  #remoteAddress: string | undefined
  #seen: Seen | undefined
  #status = 0
  readonly #whenGone: (() => void)[] = []

  constructor(context: ServerContext, response: HttpResponse, request: HttpRequest) {
    response.onAborted(() => this.#gone())
    this.#response = response
    this.context = context
    this.figures = context.figures.unrouted
    this.since = context.world.monotonic()
    this.waitsSince = this.since
    this.method = request.getCaseSensitiveMethod()
    this.path = request.getUrl()
    this.query = request.getQuery() ?? ''
    this.headers = readHeaders(request)
    this.requestId = context.requestId(this.headers.get('x-request-id'))
    this.origin = originVerdict(context, this.headers)
    // The parser looks at the length alone.
    this.#isClosing = request.getHeader('connection').length === 5 || closing.test(this.headers.get('connection'))
    const framing = readFraming(this.headers)
    this.framingFault = 'fault' in framing ? framing.fault : undefined
    this.bodyLength = 'bodyLength' in framing ? framing.bodyLength : 0
    this.#bodyBytesMax = context.bodyBytesMax
    if (this.bodyLength !== 0) {
      // Now, before anything is awaited: chunks that find no reader are lost.
      this.#reader = new BodyReader(response, context.bodyBytesMax, (task) => this.guard(task))
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

  /** Made when first asked for, like the others here: most routes never do. */
  get seen(): Seen {
    this.#seen ??= this.context.seeing.seenOf(this.headers, () => this.remoteAddress)
    return this.#seen
  }

  /** Made when first asked for: most answers are there before anybody could abort. */
  get signal(): AbortSignal {
    this.#aborter ??= new AbortController()
    if (!this.isOpen) this.#aborter.abort()
    return this.#aborter.signal
  }

  /** Whether an answer can still begin. */
  get isOpen(): boolean {
    return this.#response !== undefined && !this.hasBegun
  }

  get isGone(): boolean {
    return this.#response === undefined || this.#isBroken
  }

  addReplyHeader(name: string, value: string): void {
    refuseUnsafe(name, value)
    this.extraHeaders.push(name, value)
  }

  /** Runs a step; what it throws becomes the answer. */
  guard(step: () => void): void {
    try {
      step()
    } catch (error) {
      this.fail(error)
    }
  }

  /** Goes on with a value now, or when it comes. No promise is made for what is already there. */
  proceed<T>(value: T | PromiseLike<T>, step: (value: T) => void): void {
    if (!isPromiseLike(value)) {
      step(value)
      return
    }
    value.then(
      (came) => this.guard(() => step(came)),
      (error: unknown) => this.fail(error),
    )
  }

  /** Before anything is awaited: how large a body may be here, and whether anybody wants it. */
  expectBody(bytesMax: number, isKept: boolean): void {
    this.#bodyBytesMax = bytesMax
    this.#reader?.limit(bytesMax)
    if (!isKept) this.#reader?.discard()
  }

  /** Goes on when the body has arrived, or at once if its declared length is too large. `read` throws Problem `too_large`. */
  readBody(step: (read: () => Uint8Array) => void): void {
    const read = (bytes?: Uint8Array) => () => {
      if (!bytes) throw this.#tooLarge()
      return bytes
    }
    if (!this.#reader) step(read(noBytes))
    else if (this.#isTooLong) step(read())
    else this.#reader.whenSettled((bytes) => this.isOpen && step(read(bytes)))
  }

  /** @throws Problem `too_large` if the declared length is above the limit */
  refuseTooLong(): void {
    if (this.#isTooLong) throw this.#tooLarge()
  }

  /** Before anything is awaited. A body that is not taken holds its sender back; each piece renews the deadline. */
  streamBody(stillPermitted: () => Caller): BodyStream {
    const stream = new ReceivedBody({
      lengthBytes: this.bodyLength === 'chunked' ? undefined : this.bodyLength,
      allUnread: this.context.allUnread,
      hold: () => this.#reader?.hold(this.#response),
      release: () => this.#reader?.release(this.#response, this.context.world.monotonic()),
      moved: () => this.context.pending.renew(this),
      stillPermitted,
    })
    if (this.#reader) this.#reader.stream(stream, () => this.#tooLarge())
    else stream.finish()
    return stream
  }

  /** `isCutting`: nothing more of this connection may be read. */
  respond(reply: Reply, isCutting = false): void {
    if (!this.isOpen) {
      this.#discardReply(reply)
      return
    }
    const reader = this.#reader
    // Also what has come: behind the answer nobody takes it, and one who was held back may send other things.
    reader?.discard()
    if (isCutting) this.#begin(reply, true)
    else if (reader && this.bodyLength === 'chunked') this.#respondLast(reader, reply)
    else if (this.#isClosing && !this.#isReadyToClose) {
      // A tick later, and until then the parser takes no other request out of the packet. RFC 9112 §9.6.
      this.closeBehind(() => this.respond(reply))
    } else if (reader && Number(this.bodyLength) - reader.receivedBytes > drainBytesMax) this.#cutSoon(reader, reply)
    else this.#begin(reply, false)
  }

  /** Answers what was thrown: a Problem by its table, anything else bare, with the whole of it in the log. */
  fail(error: unknown, isCutting = false): void {
    // The end of who took a body that was broken off.
    if (error instanceof Gone && !this.isOpen) return
    const isRefusal = error instanceof Problem && error.code !== 'bug'
    this.context.figures.refusals[isRefusal ? error.code : 'bug']++
    if (this.hasBegun) {
      logBrokenOff(this, error)
      // Bytes are out: only a connection that breaks off tells the client not to take them for the whole.
      this.close()
    } else {
      if (!isRefusal) logBug(this, error)
      this.#attempt(() => {
        this.respond(isRefusal ? replyOf(error, this.headers.get('sec-fetch-mode')) : bugReply, isCutting)
      })
    }
  }

  /** The deadline passed. */
  expire(): void {
    this.fail(new Problem('overloaded', 'the answer took too long'), this.#reader?.hasLast === false)
    this.#aborter?.abort()
  }

  /** Breaks the connection off, soon; nothing more is written. */
  close(): void {
    this.#isBroken = true
    this.context.world.asInput(() => this.#response?.close())
  }

  /**
   * Takes a step that ends the connection where one may be closed, a tick later. Until then nothing is read of it: of who
   * has ended his side behind the request the parser would see only that, and close without an answer.
   */
  closeBehind(step: () => void): void {
    this.#response?.pause()
    this.context.world.asInput(() => {
      this.#response?.resume()
      this.#isReadyToClose = true
      this.guard(step)
      this.#isReadyToClose = false
    })
  }

  /** Comes back where the answer's last byte may be handed over. Undefined: that is here. */
  readyToClose(): Promise<void> | undefined {
    return this.#isClosing ? this.outsideParser() : undefined
  }

  /** Comes back where the parser holds nothing: what is written is all that is sent together. A connection may be closed there. */
  outsideParser(): Promise<void> {
    return new Promise((resolve) => this.context.world.asInput(resolve))
  }

  /** Runs when the other side goes away before the answer is complete; at once if it is gone. */
  whenGone(task: () => void): void {
    if (this.#response) this.#whenGone.push(task)
    else task()
  }

  /** From here on the request waits for something, and the parser's cork is off. */
  leaveHandler(): void {
    this.#isInHandler = false
    if (!this.#response) return
    this.context.pending.add(this)
    this.#reader?.watch(new BodyPace(this, this.context.receiving), this.since)
  }

  /** Writes, packed into one packet. Does nothing when the other side is gone. */
  write(task: (response: HttpResponse) => void): void {
    const response = this.#response
    if (!response || this.#isBroken) return
    if (this.#isInHandler) task(response)
    else response.cork(() => this.guard(() => task(response)))
  }

  /**
   * Hands the response over to become a websocket. Never corked: behind the cork, uWebSockets.js looks at the response
   * once more if the websocket was allocated where it stood, and takes what it finds there for an order to close. (Seen:
   * every second socket that was opened later closed within milliseconds, with 1006.)
   */
  upgrade(task: (response: HttpResponse) => void): void {
    const response = this.#response
    if (response) this.guard(() => task(response))
  }

  /** The answer's first bytes are about to go out. */
  begin(status: number): void {
    this.hasBegun = true
    this.#status = status
  }

  /** The answer's last byte has been handed over, or the connection has become something else. */
  finish(body: number | string): void {
    this.#response = undefined
    this.#reader?.unwatch()
    this.context.pending.remove(this)
    const ms = this.context.world.monotonic() - this.since
    this.figures.answered(this.#status, ms)
    logLine(this, this.#status, body, ms)
  }

  #begin(reply: Reply, isCutting: boolean): void {
    if (reply.chunks) streamReply(this, reply, reply.chunks)
    else writeReply(this, reply, isCutting)
  }

  get #isTooLong(): boolean {
    return this.bodyLength !== 'chunked' && this.bodyLength > this.#bodyBytesMax
  }

  #tooLarge(): Problem {
    return new Problem('too_large', `the body is larger than ${this.#bodyBytesMax} bytes`)
  }

  /**
   * The answer to chunks is the last of its connection: the parser takes things for chunks that are none (security.md), so
   * nothing behind them may be taken for a request. Until it is there, a tick later, the parser reads none; then it closes.
   * So the rest of the body is thrown away for a moment first, for who has nearly sent it.
   */
  #respondLast(reader: BodyReader, reply: Reply): void {
    let isAnswered = false
    const answer = () => {
      if (isAnswered) return
      isAnswered = true
      cancel()
      if (reader.hasLast) this.closeBehind(() => this.respond(reply, true))
      else this.#cutSoon(reader, reply)
    }
    const cancel = this.context.world.after(lingerMs, answer)
    if (reader.hasLast) answer()
    else reader.drain(lingerBytesMax, answer)
  }

  /**
   * Closing on a client that still writes resets the connection, and a write that fails hides the answer from him. Held
   * back, his buffers fill, and who waits for room to write looks for an answer too. RFC 9112 §9.6
   */
  #cutSoon(reader: BodyReader, reply: Reply): void {
    reader.hold(this.#response)
    this.context.world.after(holdMs, () => this.guard(() => this.respond(reply, true)))
  }

  #gone(): void {
    const hasBegun = this.hasBegun
    this.#response = undefined
    this.#reader?.cut()
    this.context.pending.remove(this)
    this.#attempt(() => {
      this.#aborter?.abort()
      for (const task of this.#whenGone) task()
      this.figures.aborted()
      logLine(this, hasBegun ? this.#status : 0, undefined, this.context.world.monotonic() - this.since)
    })
  }

  /** Last resort: what fails while failing costs the connection. */
  #attempt(task: () => void): void {
    try {
      task()
    } catch (error) {
      logBug(this, error)
      this.close()
    }
  }

  #discardReply(reply: Reply): void {
    // Started and returned at once, so that a generator's `finally` need not run but other iterators let go.
    if (reply.chunks)
      void reply.chunks[Symbol.asyncIterator]()
        .return?.()
        ?.catch((error) => logBug(this, error))
  }
}

const noBytes = new Uint8Array(0)
const closing = /(?:^|,)\s*close\s*(?:,|$)/i

/** Few requests are a page's; only theirs need to know where we are. */
function originVerdict({ cors, seeing }: ServerContext, headers: RequestHeaders): OriginVerdict {
  const origin = headers.get('origin')
  return cors.judge(origin, origin === '' ? '' : seeing.ownOrigin(headers))
}
