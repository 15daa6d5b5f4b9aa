import type { Platform } from '#client/platform'
import { ConnectionLost, Problem } from '#client/problem'
import type { CallOptions, RouteName } from '#client/routes'
import type { RawAnswer, Request } from '#client/transport'

/** What every call may be told, whatever its route. */
export interface AnyCall extends CallOptions {
  readonly parameters?: Readonly<Record<string, string>> | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly body?: unknown
}

/** What is not answered before devices have, or were waited for. */
const waitsForDevices: ReadonlySet<string> = new Set<RouteName>([
  'PUT /devices/:deviceIdentifier/services/:serviceIdentifier/properties',
  'PUT /services/:serviceIdentifier/devices/:deviceIdentifier/properties',
  'POST /updates/:deviceIdentifier',
])

/** Servers wait 10 s for them, unless they are told otherwise. */
const deviceSilenceMs = 120_000

/** `GET /devices/:deviceIdentifier` is method and path at once. @throws TypeError for a parameter that can't stand in a path */
export function requestOf(route: string, call: AnyCall = {}): Request {
  const [method = '', template = ''] = route.split(' ')
  return {
    method,
    path: pathOf(template, call.parameters ?? {}) + queryOf(call.query ?? {}),
    headers: {
      ...call.headers,
      ...(call.idempotencyKey !== undefined && { 'idempotency-key': call.idempotencyKey }),
      ...(call.ifNoneMatch !== undefined && { 'if-none-match': call.ifNoneMatch }),
      ...(call.ifMatch !== undefined && { 'if-match': call.ifMatch }),
    },
    body: call.body,
    signal: call.signal,
    silenceMs: call.silenceMs ?? (waitsForDevices.has(route) ? deviceSilenceMs : undefined),
  }
}

/**
 * The page after this one, as `Link` names it: below the base path, wherever a proxy serves that. RFC 8288, contract 3.4.
 *
 * @throws ConnectionLost for one that leads out of the API: what is not followed would be missing
 */
export function nextOf(headers: Headers): string | undefined {
  const [, link] = /<([^>]*)>\s*;\s*rel="next"/.exec(headers.get('link') ?? '') ?? []
  if (link === undefined) return undefined
  const [, below] = /^[^?#]*\/api\/v1(\/.*)$/s.exec(link) ?? []
  if (below === undefined) throw new ConnectionLost(`next page at ${link}`)
  return below
}

/** Dots alone would lead to another path than the one meant (RFC 3986 §5.2.4), however they are escaped. */
function pathOf(template: string, parameters: Readonly<Record<string, string>>): string {
  return template.replace(/:(\w+)/g, (_, name: string) => {
    const value = parameters[name] ?? ''
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} '${value}' names nothing`)
    return encodeURIComponent(value)
  })
}

/** Lists are repeated, what is undefined is left out. */
function queryOf(query: Readonly<Record<string, unknown>>): string {
  const fields = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) fields.append(name, String(one))
  }
  return fields.size === 0 ? '' : `?${fields}`
}

/** One page of a list. */
export interface Paged {
  readonly items: readonly unknown[]
  readonly headers: Headers
  /** It is as it was when the `ETag` was given; only of a first one, and then the last. */
  readonly isUnchanged: boolean
}

/**
 * Follows `Link: rel="next"`. While one page is looked at the next is on its way. Contract 3.4
 *
 * @param limitOf how many entries pages are to have from now on; undefined: as many as the first
 *
 * @throws Problem, ConnectionLost
 */
export async function* pagesOf(
  first: Request,
  ask: (request: Request) => Promise<RawAnswer>,
  limitOf: () => number | undefined = () => undefined,
): AsyncGenerator<Paged> {
  const gone = new AbortController()
  const follow = () => gone.abort(first.signal?.reason)
  if (first.signal?.aborted) follow()
  else first.signal?.addEventListener('abort', follow)
  const { signal } = gone
  const { silenceMs } = first
  let coming: Promise<RawAnswer> | undefined = ask({ ...first, signal })
  try {
    while (coming !== undefined) {
      const answer: RawAnswer = await coming
      const { status, headers, body } = answer
      const isUnchanged = status === 304
      if (!isUnchanged && status !== 200) throw new Problem(status, body, headers)
      // Whatever stands in between, such as a page that wants somebody to sign in to a network.
      if (!isUnchanged && !Array.isArray(body)) throw new ConnectionLost(`${first.path}: no list`)
      const next = isUnchanged ? undefined : nextOf(headers)
      coming =
        next === undefined ? undefined : ask({ method: 'GET', path: withLimit(next, limitOf()), signal, silenceMs })
      // Nobody may be there any more to hear that it failed.
      coming?.catch(() => {})
      yield { items: isUnchanged ? [] : (body as readonly unknown[]), headers, isUnchanged }
    }
  } finally {
    first.signal?.removeEventListener('abort', follow)
    gone.abort()
  }
}

function withLimit(path: string, limit: number | undefined): string {
  return limit === undefined ? path : path.replace(/([?&]limit=)\d+/, `$1${limit}`)
}

/** What makes another thing each time it is asked for: nothing in it has to differ from what is there. */
const makes: ReadonlySet<string> = new Set<RouteName>([
  'POST /alarms',
  'POST /functions',
  'POST /groups',
  'POST /notifications/subscribe',
])

/** Whoever presses again does it within this time; later he may mean another one. */
const rememberedMs = 600_000
const rememberedMax = 100

/**
 * Sends with an `Idempotency-Key` what makes something. Where the answer was lost, or was "not now", nobody knows whether
 * it was made: the same request, asked for again, goes under the same key, so that it is made once. Contract 1.10
 */
export class IdempotentSend {
  readonly #platform: Platform
  readonly #exchange: (request: Request) => Promise<RawAnswer>
  /** Of requests whose end nobody heard: the key, by what was asked for. The oldest first. */
  readonly #open = new Map<string, { readonly key: string; readonly at: number }>()

  constructor(platform: Platform, exchange: (request: Request) => Promise<RawAnswer>) {
    this.#platform = platform
    this.#exchange = exchange
  }

  async send(request: Request): Promise<RawAnswer> {
    const { method, path, headers, body } = request
    if (!makes.has(`${method} ${path}`) || new Headers(headers).has('idempotency-key')) return this.#exchange(request)
    const asked = `${path} ${JSON.stringify(body)}`
    const { key, at } = this.#known(asked) ?? { key: this.#platform.uniqueId(), at: this.#platform.now() }
    try {
      const answer = await this.#exchange({ ...request, headers: { ...headers, 'idempotency-key': key } })
      if (isFinal(answer)) this.#open.delete(asked)
      else this.#remember(asked, key, at)
      return answer
    } catch (error) {
      this.#remember(asked, key, at)
      throw error
    }
  }

  #known(asked: string) {
    const known = this.#open.get(asked)
    return known && this.#platform.now() - known.at < rememberedMs ? known : undefined
  }

  #remember(asked: string, key: string, at: number): void {
    this.#open.delete(asked)
    this.#open.set(asked, { key, at })
    for (const [oldest] of this.#open) if (this.#open.size > rememberedMax) this.#open.delete(oldest)
  }
}

/** Whether it was done, or never will be: the rest says "not you" or "not now". */
function isFinal({ status, body }: RawAnswer): boolean {
  if (status === 409) return !/still running/.test(String((body as { readonly error?: unknown } | undefined)?.error))
  return status < 300 || status === 400 || status === 404 || status === 422
}

/** Which answer has which entity tag, for who changes what he has read: beside the answers, which are as they came. */
const tags = new WeakMap<object, string>()

/** The answer, and from now on its tag is known. */
export function tagged(answer: unknown, headers: Headers): unknown {
  const tag = headers.get('etag')
  if (tag && answer && typeof answer === 'object') tags.set(answer, tag)
  return answer
}

/**
 * The entity tag of something that `call` answered: with it as `ifMatch` it is changed only if nobody else did meanwhile,
 * else that is refused with 412. Undefined for what has none. RFC 9110 §13.1.1
 */
export function etagOf(answer: unknown): string | undefined {
  return tags.get(answer as object)
}
