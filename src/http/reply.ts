import type { HttpResponse } from 'uWebSockets.js'
import { STATUS_CODES } from 'node:http'
import type { Reply } from '#http/call'
import { exposedHeaders, type OriginVerdict } from '#http/origins'
import type { ServerContext } from '#http/server-context'
import { Problem, type ProblemKind } from '#model/problem'

/** Turns a Problem into a reply; no other code does. Contract 1.3. `secFetchMode`: a header of the request. */
export function replyOf(problem: Problem, secFetchMode: string): Reply {
  const { status, body } = problem.kind
  const headers: Record<string, string> = { ...problem.headers }
  for (const [name, value] of Object.entries(defaultHeaders[status]?.(secFetchMode) ?? {})) {
    if (headerOf({ headers }, name.toLowerCase()) === undefined) headers[name] = value
  }
  const json = bodies[body](problem)
  return json === undefined ? { status, headers } : { status, headers, json }
}

const bodies: Record<ProblemKind['body'], (problem: Problem) => unknown> = {
  empty: () => undefined,
  error: (problem) => ({ error: problem.message }),
  message: (problem) => ({ message: problem.message }),
  details: (problem) => ({ error: 'Validation Error', details: problem.details ?? [] }),
  // Without details: the log has them, under the request id of the answer.
  server_error: (problem) => ({
    error: problem.kind.text,
    message: 'The server failed; its log has the details under this request id.',
    statusCode: problem.kind.status,
  }),
}

const defaultHeaders: Readonly<Record<number, (secFetchMode: string) => Record<string, string>>> = {
  // After a Basic challenge to a request of a script, the browser would show its password prompt over the page.
  401: (secFetchMode) => ({
    'WWW-Authenticate':
      secFetchMode === '' || secFetchMode === 'navigate' ? `${tokenChallenges}, ${basicChallenge}` : tokenChallenges,
  }),
  429: () => ({ 'Retry-After': '60' }),
  503: () => ({ 'Retry-After': '5' }),
}

const tokenChallenges = 'DPoP algs="ES256", Bearer'
const basicChallenge = 'Basic realm="device-data-backend", charset="UTF-8"'

/** The answer to any exception that is not a Problem. Defined after the tables that it uses. */
export const bugReply: Reply = replyOf(new Problem('bug'), '')

/** Runs a step with a value now, or when its promise is fulfilled. Makes no promise for an available value. */
export function mapMaybePromise<T, U>(value: T | Promise<T>, step: (value: T) => U | Promise<U>): U | Promise<U> {
  return isPromiseLike(value) ? value.then(step) : step(value)
}

/** Whether the value is a promise. */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function'
}

/** The exchange to which a reply is written. */
interface ReplyTarget {
  readonly context: ServerContext
  readonly method: string
  readonly requestId: string
  readonly origin: OriginVerdict
  readonly extraHeaders: readonly string[]
  readonly isOpen: boolean
  readonly isDisconnected: boolean
  header(name: string): string
  /** The status is about to be written. */
  begin(status: number): void
  /** Runs the task with the response corked. Does nothing after the client has disconnected. */
  write(task: (response: HttpResponse) => void): void
  /** The answer is complete. `body`: the text of the body or its length. */
  finish(body: string | number): void
  fail(error: unknown): void
  onDisconnect(task: () => void): void
  /** Resolves when the parser no longer runs. */
  outsideParser(): Promise<void>
  /** Resolves when the end of the answer may close the connection. Undefined: it may now. */
  readyToClose(): Promise<void> | undefined
}

/**
 * A body up to this size is written at once: with its head it fits into uWebSockets.js's cork of 16 KiB. A larger body
 * is written piece by piece as the client takes it, so that no byte is buffered twice or lost (see `chunkBytesMax`).
 */
const wholeBytesMax = 8 * 1024
/** The largest size of one UTF-16 unit in UTF-8. */
const utf8BytesMax = 3

/** Writes an answer. `isCutting`: no more data of the connection may be read, unless the answer is made in chunks. */
export function writeReply(exchange: ReplyTarget, reply: Reply, isCutting: boolean): void {
  if (reply.chunks) {
    streamReply(exchange, reply, reply.chunks)
    return
  }
  // All code that can throw runs before the first byte.
  const body = bodyOf(reply)
  const hasNoBody = isBodiless(reply.status)
  const headers = headersOf(exchange, reply, body !== '' && !hasNoBody)

  exchange.write((response) => {
    exchange.begin(reply.status)
    writeHead(response, reply.status, headers)
    if (hasNoBody || exchange.method === 'HEAD') {
      // Written as a header: with the length as argument of endWithoutBody, the parser would wait for that many bytes,
      // and never read the next request.
      if (!hasNoBody && !isCutting) response.writeHeader('Content-Length', String(Buffer.byteLength(body)))
      endBodiless(exchange, response, isCutting)
      exchange.finish(0)
    } else if (isLong(body) && !isCutting) {
      // Only an answer that is written in one piece can itself close the connection.
      if (exchange.context.isStopping) response.writeHeader('Connection', 'close')
      writePieces(exchange, response, Buffer.from(body))
    } else {
      response.end(body, isCutting || exchange.context.isStopping)
      exchange.finish(body)
    }
  })
}

/** Ends an answer without a body. The parser closes the connection after it only if it is given a length of 0. */
function endBodiless(exchange: ReplyTarget, response: HttpResponse, isCutting: boolean): void {
  if (isCutting) response.endWithoutBody(0, true)
  else {
    if (exchange.context.isStopping) response.writeHeader('Connection', 'close')
    response.endWithoutBody()
  }
}

/** Informational, No Content and Not Modified end with their headers. RFC 9110 §6.4.1. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 304 || status < 200
}

function writeHead(response: HttpResponse, status: number, headers: readonly string[]): void {
  response.writeStatus(statusLines.get(status) ?? statusLine(status))
  for (let index = 0; index < headers.length; index += 2) {
    response.writeHeader(headers[index] ?? '', headers[index + 1] ?? '')
  }
}

/** Names and values, alternating. The parser adds `Date` and the framing. */
function headersOf(exchange: ReplyTarget, reply: Reply, hasBody: boolean): string[] {
  const lines = ['X-Request-Id', exchange.requestId, 'X-Content-Type-Options', 'nosniff', 'Vary', 'Origin']
  let hasType = !hasBody
  let hasCacheControl = false
  const own = reply.headers
  for (const name in own) {
    const value = own[name] ?? ''
    refuseUnsafe(name, value)
    const lower = name.toLowerCase()
    if (lower === 'content-type') hasType = true
    else if (lower === 'cache-control') hasCacheControl = true
    else if (lower === 'content-length') continue
    lines.push(name, value)
  }
  if (!hasType) lines.push('Content-Type', 'application/json; charset=utf-8')
  if (!hasCacheControl) lines.push('Cache-Control', 'private, no-cache')
  if (exchange.origin === 'allowed') {
    lines.push('Access-Control-Allow-Origin', exchange.header('origin'))
    lines.push('Access-Control-Expose-Headers', exposedHeaders)
  }
  lines.push(...exchange.extraHeaders)
  return lines
}

const statusLines = new Map(Object.keys(STATUS_CODES).map((status) => [Number(status), statusLine(Number(status))]))

function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? 'Unknown'}`
}

/** The whole body of an answer; empty for none. Throws if the value is not JSON. */
export function bodyOf(reply: Reply): string {
  if (reply.text !== undefined) return reply.text
  if (reply.json === undefined) return ''
  const text: string | undefined = JSON.stringify(reply.json)
  if (text === undefined) throw new Error(`a ${typeof reply.json} cannot be answered as JSON`)
  return text
}

/** With a line break in a header's value, the author of the value could add headers, or a second answer. */
export function refuseUnsafe(name: string, value: string): void {
  if (/[\r\n\0]/.test(name) || /[\r\n\0]/.test(value)) {
    throw new Error(`the reply's header ${JSON.stringify(name)} has a line break`)
  }
}

function isLong(body: string): boolean {
  return body.length > wholeBytesMax / utf8BytesMax && Buffer.byteLength(body) > wholeBytesMax
}

function writePieces(exchange: ReplyTarget, response: HttpResponse, body: Buffer): void {
  const offer = (offset: number) => {
    const [isTaken, isDone] = response.tryEnd(body.subarray(offset), body.byteLength)
    if (isDone) exchange.finish(body.byteLength)
    return isTaken
  }
  // Before the first call of `offer`: the response is invalid once all bytes were taken.
  response.onWritable(offer)
  offer(0)
}

/**
 * Writes an answer that is made in chunks.
 *
 * Obligations: no byte is sent before the first chunk is available, so that an earlier error gets a proper answer; the
 * next chunk is requested when the client has taken the previous one; `return` of the iterator is called when the
 * client disconnects; an error after the first chunk closes the connection, so that no client takes the part for the
 * whole.
 */
function streamReply(exchange: ReplyTarget, reply: Reply, chunks: AsyncIterable<string | Uint8Array>): void {
  const iterator = chunks[Symbol.asyncIterator]()
  let isReturned = false
  const returnIterator = async () => {
    if (isReturned) return
    isReturned = true
    // A generator ends after the chunk that it is producing.
    await iterator.return?.()
  }
  const returnAndLog = () => void returnIterator().catch((error: unknown) => exchange.fail(error))
  exchange.onDisconnect(returnAndLog)

  stream(exchange, reply, iterator)
    .catch((error: unknown) => exchange.fail(error))
    .then(returnAndLog, returnAndLog)
}

async function stream(
  exchange: ReplyTarget,
  reply: Reply,
  iterator: AsyncIterator<string | Uint8Array>,
): Promise<void> {
  let next = await iterator.next()
  // Inside the parser, an answer without a body cannot end with its head, and buffered bytes of other answers may leave
  // no space for this one.
  await exchange.outsideParser()
  // The request may have been answered in between, at its deadline.
  if (!exchange.isOpen) return

  const length = headerOf(reply, 'content-length')
  const lengthBytes = length === undefined ? undefined : Number(length)
  const headers = headersOf(exchange, reply, !isBodiless(reply.status))
  const output = new ChunkOutput(exchange, lengthBytes)
  exchange.write((response) => {
    exchange.begin(reply.status)
    writeHead(response, reply.status, headers)
    if (exchange.method === 'HEAD' || isBodiless(reply.status)) {
      if (lengthBytes !== undefined) response.writeHeader('Content-Length', String(lengthBytes))
      endBodiless(exchange, response, false)
      exchange.finish(0)
      return
    }
    if (exchange.context.isStopping) response.writeHeader('Connection', 'close')
    output.start(response)
  })
  while (!next.done && !exchange.isDisconnected) {
    await output.send(typeof next.value === 'string' ? Buffer.from(next.value) : next.value)
    if (exchange.isDisconnected) return
    next = await iterator.next()
  }
  await output.end()
}

/** `name` in lower case. */
export function headerOf({ headers = {} }: Pick<Reply, 'headers'>, name: string): string | undefined {
  return Object.entries(headers).find(([own]) => own.toLowerCase() === name)?.[1]
}

/** The number of bytes written at once to an answer of known length. */
const pieceBytesMax = 64 * 1024
/**
 * The number of bytes written at once as a chunk. With its framing it fits into uWebSockets.js's cork of 16 KiB. A
 * larger chunk bypasses the cork after its framing was written there, and is lost if the kernel takes no byte of that
 * framing at that moment. Bytes left in the cork are not lost, and the next write reports them.
 */
const chunkBytesMax = 16_000
/**
 * The number of bytes written at once while the last chunk was not fully taken. The kernel reports a socket as writable
 * only when it can take more bytes than this (a third of its smallest buffer). So the backlog shrinks.
 */
const behindBytesMax = 1_000

/**
 * Writes chunks to an answer that has begun. When a chunk is written, at most one earlier chunk is not taken yet. If
 * the length is known, the bytes are written unframed and must add up to it; otherwise they are sent chunked.
 */
class ChunkOutput {
  readonly #exchange: ReplyTarget
  readonly #lengthBytes: number | undefined
  #sentBytes = 0
  /** The last chunk was not fully taken. */
  #isBehind = false
  #wake: (() => void) | undefined

  constructor(exchange: ReplyTarget, lengthBytes: number | undefined) {
    this.#exchange = exchange
    this.#lengthBytes = lengthBytes
    exchange.onDisconnect(() => this.#wakeUp())
  }

  /** To be called after the head was written. */
  start(response: HttpResponse): void {
    response.onWritable(() => {
      // Flushes buffered bytes: the next chunk of the source may take time.
      this.#exchange.write(() => {})
      this.#wakeUp()
      return true
    })
  }

  /** Resolves when the chunk has been taken, or the client disconnected. */
  async send(chunk: Uint8Array): Promise<void> {
    for (let start = 0; start < chunk.byteLength && !this.#exchange.isDisconnected; ) {
      const piece = chunk.subarray(start, start + this.#pieceBytesMax)
      if (this.#lengthBytes === undefined) await this.#sendChunked(piece)
      else await this.#sendCounted(piece, this.#lengthBytes)
      this.#sentBytes += piece.byteLength
      start += piece.byteLength
    }
  }

  /** To be called after the last chunk. Throws if the promised length was not reached. */
  async end(): Promise<void> {
    if (this.#exchange.isDisconnected) return
    if (this.#lengthBytes !== undefined && this.#sentBytes !== this.#lengthBytes) {
      throw new Error(`${this.#sentBytes} bytes were sent, but Content-Length is ${this.#lengthBytes}`)
    }
    await this.#exchange.readyToClose()
    this.#exchange.write((response) => {
      response.end()
      this.#exchange.finish(this.#sentBytes)
    })
  }

  async #sendChunked(piece: Uint8Array): Promise<void> {
    let isTaken = true
    this.#exchange.write((response) => {
      isTaken = response.write(piece)
    })
    this.#isBehind = !isTaken
    if (!isTaken) await this.#writable()
  }

  /** uWebSockets.js does not buffer bytes that the kernel did not take, so they are offered again. */
  async #sendCounted(piece: Uint8Array, lengthBytes: number): Promise<void> {
    if (this.#sentBytes + piece.byteLength > lengthBytes) {
      throw new Error(`more bytes were sent than the Content-Length of ${lengthBytes}`)
    }
    if (this.#sentBytes + piece.byteLength === lengthBytes) await this.#exchange.readyToClose()
    let isTaken = false
    while (!isTaken && !this.#exchange.isDisconnected) {
      this.#exchange.write((response) => {
        const rest = piece.subarray(response.getWriteOffset() - this.#sentBytes)
        const [isTakenNow, isDone] = response.tryEnd(rest, lengthBytes)
        isTaken = isTakenNow
        if (isDone) this.#exchange.finish(lengthBytes)
      })
      if (!isTaken && !this.#exchange.isDisconnected) await this.#writable()
    }
  }

  get #pieceBytesMax(): number {
    if (this.#lengthBytes !== undefined) return pieceBytesMax
    return this.#isBehind ? behindBytesMax : chunkBytesMax
  }

  #writable(): Promise<void> {
    if (this.#exchange.isDisconnected) return Promise.resolve()
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  #wakeUp(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}
