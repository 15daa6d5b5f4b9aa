import { ConnectionLost } from '#client/problem'
import type { CallOptions, RouteName } from '#client/routes'
import type { Request } from '#client/transport'

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
