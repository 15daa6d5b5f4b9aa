import { following, type Platform } from '#client/platform'
import { ConnectionLost } from '#client/problem'
import type { CallOptions, RouteName } from '#client/routes'
import { type Exchange, problemOf, type RawAnswer, type Request } from '#client/transport'

/** Options of a call to any route. */
export interface AnyCall extends CallOptions {
  readonly parameters?: Readonly<Record<string, string>> | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly body?: unknown
}

/** The server answers these routes only after a device has answered, or after a timeout. */
const waitsForDevices: ReadonlySet<string> = new Set<RouteName>([
  'PUT /devices/:deviceIdentifier/services/:serviceIdentifier/properties',
  'PUT /services/:serviceIdentifier/devices/:deviceIdentifier/properties',
  'POST /updates/:deviceIdentifier',
])

/** Servers wait 10 s for devices by default; operators can configure more. */
const deviceSilenceMs = 120_000

/** `route`: method and path, as `GET /devices/:deviceIdentifier`. @throws TypeError for a parameter unfit for a path */
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
 * The path of the next page in `Link`, below the base path, which a proxy may have moved. RFC 8288, contract 3.4.
 *
 * @throws ConnectionLost for a link that leads out of the API: ignoring it would lose entries
 */
export function nextOf(headers: Headers): string | undefined {
  const [, link] = /<([^>]*)>\s*;\s*rel="next"/.exec(headers.get('link') ?? '') ?? []
  if (link === undefined) return undefined
  const [, below] = /^[^?#]*\/api\/v1(\/.*)$/s.exec(link) ?? []
  if (below === undefined) throw new ConnectionLost(`next page is not in the API: ${link}`)
  return below
}

/** Rejects an empty text, `.` and `..`, which would lead to another path even if escaped. RFC 3986 §5.2.4 */
function pathOf(template: string, parameters: Readonly<Record<string, string>>): string {
  return template.replace(/:(\w+)/g, (_, name: string) => {
    const value = parameters[name] ?? ''
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} '${value}' is not a valid path segment`)
    return encodeURIComponent(value)
  })
}

/** Repeats the field for each entry of a list, and omits undefined values. */
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
}

/**
 * Follows `Link: rel="next"`, and requests the next page while the caller processes the current page. Contract 3.4
 *
 * @param limitOf entries per page from now on; undefined: as many as the first page
 *
 * @throws Problem, ConnectionLost
 */
export async function* pagesOf(
  first: Request,
  ask: Exchange,
  limitOf: () => number | undefined = () => undefined,
): AsyncGenerator<Paged> {
  const { signal, abort, unfollow } = following(first.signal)
  const { silenceMs } = first
  let nextPage: Promise<RawAnswer> | undefined = ask({ ...first, signal })
  try {
    while (nextPage !== undefined) {
      const answer: RawAnswer = await nextPage
      const { headers, body } = answer
      if (answer.status !== 200) throw problemOf(answer)
      // A captive portal or proxy has answered.
      if (!Array.isArray(body)) throw new ConnectionLost(`${first.path}: the answer is not a list`)
      const next = nextOf(headers)
      nextPage =
        next === undefined ? undefined : ask({ method: 'GET', path: withLimit(next, limitOf()), signal, silenceMs })
      // Without this, a failure would be unhandled if the caller stops before it awaits this page.
      nextPage?.catch(() => {})
      yield { items: body, headers }
    }
  } finally {
    unfollow()
    abort()
  }
}

function withLimit(path: string, limit: number | undefined): string {
  return limit === undefined ? path : path.replace(/([?&]limit=)\d+/, `$1${limit}`)
}

/** Routes that create another resource each time they are called with the same body. */
const creatingRoutes: ReadonlySet<string> = new Set<RouteName>([
  'POST /alarms',
  'POST /functions',
  'POST /groups',
  'POST /notifications/subscribe',
])

/** A repeated call within this time counts as the same request. Later, the caller may mean a new request. */
const rememberedMs = 600_000
const rememberedMax = 100

/**
 * Adds an `Idempotency-Key` to requests that create something. If the answer was lost or temporary, the same request is
 * sent with the same key the next time, so that it creates one resource. Contract 1.10
 */
export function idempotentSend({ now, uniqueId }: Platform, exchange: Exchange): Exchange {
  /** Keys of requests without a final answer, by path and body, oldest first. */
  const open = new Map<string, { readonly key: string; readonly at: number }>()
  return async (request) => {
    const { method, path, headers, body } = request
    const isCreating = creatingRoutes.has(`${method} ${path}`)
    if (!isCreating || new Headers(headers).has('idempotency-key')) return exchange(request)
    const asked = `${path} ${JSON.stringify(body)}`
    const known = open.get(asked)
    const used = known && now() - known.at < rememberedMs ? known : { key: uniqueId(), at: now() }
    const remember = () => {
      open.delete(asked)
      open.set(asked, used)
      for (const [oldest] of open) if (open.size > rememberedMax) open.delete(oldest)
    }
    try {
      const answer = await exchange({ ...request, headers: { ...headers, 'idempotency-key': used.key } })
      if (isFinal(answer)) open.delete(asked)
      else remember()
      return answer
    } catch (error) {
      remember()
      throw error
    }
  }
}

/** Whether repeating the request cannot change its outcome. */
function isFinal({ status, body }: RawAnswer): boolean {
  if (status === 409) return !/still running/.test(String((body as { readonly error?: unknown } | undefined)?.error))
  return status < 300 || status === 400 || status === 404 || status === 422
}

/** Entity tags by answer, so that the answers stay as they were received. */
const tags = new WeakMap<object, string>()

/** Remembers the entity tag of an answer. */
export function rememberTag(answer: unknown, headers: Headers): unknown {
  const tag = headers.get('etag')
  if (tag && answer && typeof answer === 'object') tags.set(answer, tag)
  return answer
}

/**
 * The entity tag of an answer of `call`. A request with this tag as `ifMatch` is refused with 412 if the resource has
 * changed since. Undefined if the answer had no tag. RFC 9110 §13.1.1
 */
export function etagOf(answer: unknown): string | undefined {
  return tags.get(answer as object)
}
