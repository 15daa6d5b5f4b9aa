import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest, Agent as TlsAgent } from 'node:https'
import { type ClusterNode, nodeKeyHeader, ownStateHeader } from '#cluster/node'
import type { Reply } from '#http/call'
import type { ForwardableRequest, OtherNodes } from '#http/server-context'
import { Problem } from '#model/problem'

/**
 * Set in the answer of a node that is not the owner: it has not handled the request, or the request may be repeated.
 */
const notOwnerHeader = 'x-not-owner'

/** Headers of one connection (RFC 9110 §7.6.1), and those that the node of the client adds to each answer itself. */
const notPassedOn = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'],
  ...['x-content-type-options', 'vary', 'date', 'uwebsockets', notOwnerHeader, nodeKeyHeader, ownStateHeader],
  ...['access-control-allow-origin', 'access-control-expose-headers'],
])

/** Connections are closed before the other node would close them, which it does after ten seconds without a request. */
const agentOptions = { keepAlive: true, timeout: 5_000 }

/** How long this node still waits for answers of a former owner. */
const formerOwnerMsMax = 1_000

/** How long a state read waits for the owner before this node checks whether there still is one. */
const readMsMax = 1_000

/** A JSON answer up to this size is written at once. */
const wholeBytesMax = 8 * 1024

/**
 * Sends requests to the owner. If the owner dies, requests that may be repeated are sent to the next owner. Any other
 * request that was already sent may have taken effect, and is answered with 503. Contract 11.
 */
export class Forwarder implements OtherNodes {
  readonly #node: ClusterNode
  readonly #agents = { 'http:': new Agent(agentOptions), 'https:': new TlsAgent(agentOptions) }

  /** Requests that are not answered yet, and where they were sent. */
  readonly #waiting = new Map<AbortController, string>()

  constructor(node: ClusterNode) {
    this.#node = node
    node.onOwnerChanged(() => void this.#abandon())
  }

  get isOwner(): boolean {
    return this.#node.isOwner
  }

  isFromNode(headers: { get(name: string): string }): boolean {
    return this.#node.isKey(headers.get(nodeKeyHeader))
  }

  mayAnswerFromOwnState(headers: { get(name: string): string }): boolean {
    return headers.get(ownStateHeader) !== '' && this.#node.mayRead && !this.#node.isUnsettled
  }

  onReadStuck(request: Pick<ForwardableRequest, 'method' | 'path'>, isWaiting: () => boolean, task: () => void): void {
    if (!isStateRead(request)) return
    this.#node.after(readMsMax, async () => {
      await this.#node.until(() => !isWaiting() || !this.isOwner, Number.POSITIVE_INFINITY)
      if (isWaiting()) task()
    })
  }

  async notOwner(): Promise<Reply | undefined> {
    return (await this.#node.becomesOwner()) ? undefined : { status: 503, headers: { [notOwnerHeader]: 'true' } }
  }

  async forward(request: ForwardableRequest): Promise<Reply | undefined> {
    const deadline = this.#node.deadline(request.since)
    const isInMemory = request.body instanceof Uint8Array
    for (;;) {
      const { place } = this.#node
      if (place === 'here') return undefined
      if (place === undefined && isStateRead(request) && this.#node.mayRead) {
        if (!this.#node.isUnsettled) return undefined
        const reply = await this.#readElsewhere(request)
        if (reply) return reply
      }
      if (place === undefined) {
        await this.#node.pause(deadline)
        continue
      }
      let wasSent = false
      try {
        const answer = await this.#send(place, request, () => {
          wasSent = true
        })
        if (answer.headers[notOwnerHeader] !== undefined) {
          answer.resume()
          if (!isInMemory) throw new Problem('storage')
        } else return await replyOf(request, answer)
      } catch (error) {
        if (error instanceof Problem) throw error
        // The client has gone.
        if (request.signal.aborted) throw new Problem('storage')
        if (!request.mayRepeat && (wasSent || !isInMemory)) throw new Problem('storage')
      }
      await this.#node.pause(deadline)
    }
  }

  /**
   * Ends requests to a former owner that have no answer after `formerOwnerMsMax`. A former owner that works answers
   * earlier.
   */
  async #abandon(): Promise<void> {
    const former = [...this.#waiting].filter(([, place]) => place !== this.#node.ownerUrl)
    const isWaiting = ([attempt]: (typeof former)[number]) => this.#waiting.has(attempt)
    await this.#node.until(() => !former.some(isWaiting), formerOwnerMsMax)
    for (const [attempt] of former.filter(isWaiting)) attempt.abort()
  }

  /** Ends a read once there is no owner. The former owner may wait for the log, but this node can answer the read. */
  async #abandonRead(attempt: AbortController): Promise<void> {
    await this.#node.until(
      () => !this.#waiting.has(attempt) || this.#node.place === undefined,
      Number.POSITIVE_INFINITY,
    )
    if (this.#waiting.has(attempt)) attempt.abort()
  }

  /** The answer of another node from its own store. */
  async #readElsewhere(request: ForwardableRequest): Promise<Reply | undefined> {
    for (const place of this.#node.otherPlaces) {
      try {
        const answer = await this.#send(place, request, () => {}, [ownStateHeader, 'true'])
        if (answer.headers[notOwnerHeader] === undefined) return await replyOf(request, answer)
        answer.resume()
      } catch {
        if (request.signal.aborted) throw new Problem('storage')
      }
    }
    return undefined
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy()
  }

  #send(
    place: URL,
    request: ForwardableRequest,
    sent: () => void,
    more: readonly string[] = [],
  ): Promise<IncomingMessage> {
    const { method, target, body, signal } = request
    // The length of the bytes that are sent may differ from the length that the client announced. With a wrong length,
    // the next request would be read as a part of this body.
    const framing =
      body instanceof Uint8Array ? ['Content-Length', `${body.byteLength}`] : ['Transfer-Encoding', 'chunked']
    const headers = [...passedOn(request.headers, 'content-length'), ...framing, ...more, nodeKeyHeader, this.#node.key]
    const isTls = place.protocol === 'https:'
    const agent = isTls ? this.#agents['https:'] : this.#agents['http:']
    const attempt = new AbortController()
    this.#waiting.set(attempt, place.href)
    const stopCheck = isStateRead(request)
      ? this.#node.after(readMsMax, () => void this.#abandonRead(attempt))
      : () => {}
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      const options = {
        method,
        path: target.replace(/[^\x21-\x7e]+/g, encodeURIComponent),
        headers: headers.map(wireText),
        agent,
        signal: AbortSignal.any([signal, attempt.signal]),
        // Without the brackets of an IPv6 address.
        host: place.hostname.replace(/^\[|\]$/g, ''),
        port: place.port,
      }
      const outgoing = sendable(() => (isTls ? httpsRequest : httpRequest)(options, resolve))
      outgoing.on('error', reject)
      outgoing.on('socket', (socket) => {
        if (socket.connecting) socket.once('connect', sent)
        else sent()
      })
      if (body instanceof Uint8Array) outgoing.end(body)
      else void pipe(body, outgoing).catch((error) => outgoing.destroy(error))
    })
    return answered.finally(() => {
      stopCheck()
      this.#waiting.delete(attempt)
    })
  }
}

/** @throws Problem `bad_request` for a control character in a head, which the parser of this node accepts */
function sendable<Sent>(send: () => Sent): Sent {
  try {
    return send()
  } catch {
    throw new Problem('bad_request', 'the request has a control character')
  }
}

async function pipe(body: AsyncIterable<Uint8Array>, outgoing: ClientRequest): Promise<void> {
  for await (const piece of body) {
    // A copy: the piece is valid until the next one is requested.
    if (!outgoing.write(Uint8Array.from(piece))) {
      await new Promise<void>((resolve) => {
        const goOn = () => {
          outgoing.off('drain', goOn).off('close', goOn)
          resolve()
        }
        outgoing.on('drain', goOn).on('close', goOn)
      })
    }
    if (outgoing.destroyed) return
  }
  outgoing.end()
}

async function replyOf({ method }: ForwardableRequest, answer: IncomingMessage): Promise<Reply> {
  const { statusCode: status = 502 } = answer
  // `Exchange` adds the request id itself.
  const lines = passedOn(answer.rawHeaders, 'x-request-id')
  const headers: Record<string, string> = {}
  for (let index = 0; index < lines.length; index += 2) headers[lines[index] ?? ''] = lines[index + 1] ?? ''
  const type = answer.headers['content-type'] ?? ''
  const length = Number(answer.headers['content-length'] ?? Number.NaN)
  if (method === 'HEAD' || !(length <= wholeBytesMax) || !type.startsWith('application/json')) {
    return { status, headers, chunks: answer }
  }
  const pieces: Uint8Array[] = []
  for await (const piece of answer) pieces.push(piece as Uint8Array)
  return { status, headers, text: Buffer.concat(pieces).toString() }
}

/** The UTF-8 bytes of a text, each as one character, because Node.js sends each character of a head as one byte. */
function wireText(text: string): string {
  return Buffer.from(text).toString('latin1')
}

function passedOn(headers: readonly string[], without: string): string[] {
  const lines: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? ''
    const lower = name.toLowerCase()
    if (lower !== without && !notPassedOn.has(lower)) lines.push(name, headers[index + 1] ?? '')
  }
  return lines
}

/** Whether each node can answer the request from its own store. Contract 11. */
function isStateRead({ method, path }: Pick<ForwardableRequest, 'method' | 'path'>): boolean {
  return (method === 'GET' || method === 'HEAD') && /^\/(?:devices|services|meta|schemas)(?:\/|$)/.test(path)
}
