import { Agent as HttpAgent, type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { z } from 'zod'
import { defaultTenant } from '#actors/tenant/state'
import type { UpdateServer } from '#firmware/update-server'
import { FirmwareVersion, Sha256 } from '#model/identifier'
import { isNewer } from '#model/release'
import { type OfferedFirmware, type UpdateQuery, UpdateServerBusy, UpdateServerFailed } from '#model/update-offer'
import { Histogram } from '#runtime/histogram'
import type { World } from '#runtime/world'

/**
 * The time limit for an answer. Short, because a user who triggers an update waits for this answer and then for the
 * device.
 */
const answerMsMax = 5_000
/** The largest number of concurrent requests, automatic and manual. */
const socketsMax = 80
const urlCharactersMax = 2_048
/** Upper bounds of the buckets of the histogram, in seconds. */
export const updateServerSecondsBounds = [0.01, 0.05, 0.25, 1, 2.5, 5]

/** Contract 6, External. Other fields are ignored. */
const UpdateAnswer = z.object({
  firmware: FirmwareVersion,
  url: z.url({ protocol: /^https?$/ }).max(urlCharactersMax),
  sha256: Sha256,
  size: z.int().min(1),
  pinned: z.boolean().default(false),
})
type UpdateAnswer = z.infer<typeof UpdateAnswer>

export interface ExternalUpdateServerOptions {
  /** Base URL, before `/projects/…`. */
  readonly url: string
  readonly token?: string | undefined
  readonly world: World
  /** Default 5 s. */
  readonly timeoutMs?: number
}

/**
 * An external update server, asked over HTTP for one firmware of one device at a time: `GET
 * {url}/projects/:project/devices/:deviceIdentifier/update?firmware=&hardware=&index=`. Contract 6, External.
 *
 * An offer counts only if its version is newer, or pinned and different. Errors never contain the token; the server's
 * address and the connection error are only in the cause of an error.
 */
export class ExternalUpdateServer implements UpdateServer {
  readonly isEmbedded = false
  /** Number of answers by result. Busy: 429 or 503. Failed: another status, or an invalid or missing answer. */
  readonly counts = { offered: 0, none: 0, busy: 0, failed: 0 }
  readonly seconds = new Histogram(updateServerSecondsBounds)
  readonly #base: URL
  readonly #headers: Readonly<Record<string, string>>
  readonly #world: World
  readonly #connections: JsonClient

  constructor({ url, token, world, timeoutMs = answerMsMax }: ExternalUpdateServerOptions) {
    this.#base = new URL(url)
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    this.#world = world
    this.#connections = new JsonClient(this.#base, world, timeoutMs)
  }

  async check(query: UpdateQuery, signal?: AbortSignal): Promise<OfferedFirmware | undefined> {
    const began = this.#world.monotonic()
    try {
      const offered = await this.#check(query, signal)
      this.counts[offered ? 'offered' : 'none']++
      return offered
    } catch (error) {
      this.counts[error instanceof UpdateServerBusy ? 'busy' : 'failed']++
      throw error
    } finally {
      this.seconds.observe((this.#world.monotonic() - began) / 1000)
    }
  }

  /** Closes the connections; running requests fail. */
  stop(): void {
    this.#connections.stop()
  }

  async #check(query: UpdateQuery, signal: AbortSignal | undefined): Promise<OfferedFirmware | undefined> {
    const answer = await this.#ask(query, signal)
    const { status } = answer
    if (status === 204) return undefined
    if (status === 429 || status === 503) {
      const wait = retryAfterMs(answer.retryAfter, this.#world.now())
      throw new UpdateServerBusy(`the update server answered ${status}`, wait)
    }
    if (status !== 200) throw new UpdateServerFailed(`the update server answered ${status}`)
    return offeredOf(query, parsedAnswer(answer.text))
  }

  async #ask(query: UpdateQuery, signal: AbortSignal | undefined): Promise<Answer> {
    try {
      return await this.#connections.get(this.#urlOf(query), this.#headers, signal)
    } catch (error) {
      throw new UpdateServerFailed(errorText(error), { cause: error })
    }
  }

  #urlOf({ tenant, device, project, firmware, hardware, index }: UpdateQuery): URL {
    const url = new URL(this.#base)
    // Several tenants may have a device of the same name.
    const name = encodeURIComponent(tenant === defaultTenant ? device : `${tenant}/${device}`)
    const prefix = url.pathname.replace(/\/+$/, '')
    url.pathname = `${prefix}/projects/${encodeURIComponent(project)}/devices/${name}/update`
    url.searchParams.set('firmware', firmware)
    if (hardware !== undefined) url.searchParams.set('hardware', hardware)
    url.searchParams.set('index', String(index))
    return url
  }
}

/** Error text for users of a tenant: it must not reveal the server address. */
function errorText(error: unknown): string {
  if (error instanceof AnswerTooLate) return 'the update server did not answer in time'
  if (error instanceof RangeError) return 'the update server sent an answer that is too long'
  return 'the update server could not be reached'
}

/** @throws UpdateServerFailed */
function parsedAnswer(text: string): UpdateAnswer {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new UpdateServerFailed('the update server sent invalid JSON')
  }
  const parsed = UpdateAnswer.safeParse(value)
  if (parsed.success) return parsed.data
  const [{ path, message } = { path: [], message: '' }] = parsed.error.issues
  throw new UpdateServerFailed(`the update server sent an invalid answer: ${path.join('.')} ${message}`)
}

function offeredOf({ firmware: from, index }: UpdateQuery, answer: UpdateAnswer): OfferedFirmware | undefined {
  const { firmware, url, sha256, size, pinned: isPinned } = answer
  if (isPinned ? firmware === from : !isNewer(firmware, from)) return undefined
  return { firmware, index, sha256, size, isPinned, url, rollout: null }
}

/** A longer Retry-After is shortened to this. */
const retryAfterMsMax = 3_600_000

/**
 * The delay of a Retry-After header in ms, at most an hour; undefined if the header is neither seconds nor a date. RFC
 * 9110 §10.2.3.
 */
function retryAfterMs(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  const text = value.trim()
  const wait = /^[0-9]+$/.test(text) ? Number(text) * 1_000 : /[a-z]/i.test(text) ? Date.parse(text) - now : Number.NaN
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), retryAfterMsMax)
}

/** Maximum size of an answer; a description of an update is much smaller. */
const bodyBytesMax = 64 * 1024

class AnswerTooLate extends Error {
  override readonly name = 'AnswerTooLate'
}

interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
  /** The text of a 200, which may be invalid JSON; empty for any other status. */
  readonly text: string
}

/**
 * GET requests to one server over persistent connections. Redirects are not followed, because they would send the
 * request's credentials to another server. If the server closed a reused connection, the request is sent once more.
 */
class JsonClient {
  readonly #world: World
  readonly #timeoutMs: number
  readonly #isSecure: boolean
  readonly #agent: HttpAgent
  /** End the running requests. */
  readonly #running = new Set<AbortController>()

  /** `timeoutMs`: from the call to the last byte of the answer, including the wait for a connection. */
  constructor({ protocol }: URL, world: World, timeoutMs: number) {
    this.#world = world
    this.#timeoutMs = timeoutMs
    this.#isSecure = protocol === 'https:'
    const sockets = { keepAlive: true, maxSockets: socketsMax }
    this.#agent = this.#isSecure ? new HttpsAgent(sockets) : new HttpAgent(sockets)
  }

  /** @throws AnswerTooLate; a RangeError for an answer that is too long; the connection's error; the signal's reason */
  async get(url: URL, headers: Readonly<Record<string, string>>, given: AbortSignal | undefined): Promise<Answer> {
    const own = new AbortController()
    this.#running.add(own)
    const cancel = this.#world.after(this.#timeoutMs, () =>
      own.abort(new AnswerTooLate(`no answer in ${this.#timeoutMs} ms`)),
    )
    const signal = given ? AbortSignal.any([given, own.signal]) : own.signal
    const options = { agent: this.#agent, headers: { ...headers, accept: 'application/json' }, signal }
    try {
      const response = await this.#respond(url, options, true)
      const { statusCode: status = 0, headers: answered } = response
      return { status, retryAfter: answered['retry-after'], text: status === 200 ? await textOf(response) : '' }
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    } finally {
      cancel()
      this.#running.delete(own)
    }
  }

  /** Closes the connections; running requests fail. */
  stop(): void {
    for (const request of this.#running) request.abort(new Error('the server is stopping'))
    this.#agent.destroy()
  }

  #respond(url: URL, options: RequestOptions, mayRepeat: boolean): Promise<IncomingMessage> {
    const { signal } = options
    if (signal?.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      // A request that still waits for a connection emits no error when it is aborted.
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      const request = this.#isSecure ? requestHttps(url, options) : requestHttp(url, options)
      request.on('response', (response) => {
        // Only the body of a 200 is needed. To read a long one would take longer than a new connection; a 204 has none.
        if (response.statusCode === 204) response.resume()
        else if (response.statusCode !== 200) response.destroy()
        resolve(response)
      })
      request.on('error', (error: NodeJS.ErrnoException) => {
        const wasClosed = request.reusedSocket && error.code === 'ECONNRESET'
        if (wasClosed && mayRepeat) resolve(this.#respond(url, options, false))
        else reject(error)
      })
      request.end()
    })
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > bodyBytesMax) throw new RangeError(`an answer of more than ${bodyBytesMax} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}
