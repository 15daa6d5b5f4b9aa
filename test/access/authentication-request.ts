import type { AuthenticationRequest } from '#http/authentication'

/** A request with these headers. A header with several values was sent several times. */
export function requestWith(
  headers: Readonly<Record<string, string | readonly string[]>>,
  more: Partial<AuthenticationRequest> = {},
): AuthenticationRequest {
  const valuesOf = (name: string) => [headers[name] ?? []].flat()
  return {
    method: 'GET',
    path: '/api/v1/iam/me',
    query: '',
    requestId: 'a test',
    forwarded: { origins: ['http://127.0.0.1:8080'], host: '127.0.0.1:8080', address: '192.0.2.1' },
    header: (name) => valuesOf(name).join(', '),
    headerCount: (name) => valuesOf(name).length,
    addReplyHeader() {},
    ...more,
  }
}
