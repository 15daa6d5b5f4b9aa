import type { Request } from '#client/transport'

/** What every call may be told, whatever its route. */
export interface AnyCall {
  readonly parameters?: Readonly<Record<string, string>> | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
  readonly idempotencyKey?: string | undefined
  readonly ifNoneMatch?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

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
    },
    body: call.body,
    signal: call.signal,
  }
}

/** The page after this one, as `Link` names it: below the base path, wherever a proxy serves that. RFC 8288, contract 3.4. */
export function nextOf(headers: Headers): string | undefined {
  const [, link] = /<([^>]*)>\s*;\s*rel="next"/.exec(headers.get('link') ?? '') ?? []
  return link === undefined ? undefined : link.slice(link.indexOf('/api/v1/') + '/api/v1'.length)
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
