import { describe, expect, test } from 'vitest'
import { anonymous, anonymousCallers } from '#access/built-in-callers'
import type { RouteAccess } from '#api/route-entry'
import type { AuthenticationRequest } from '#http/authentication'
import { unauthenticated } from '#model/caller'

const requestWith = (headers: Readonly<Record<string, string>>): AuthenticationRequest => ({
  method: 'POST',
  path: '/api/v1/updates/hook/boiler',
  query: '',
  forwarded: { origin: 'http://localhost', path: '/api/v1/updates/hook/boiler', address: '127.0.0.1' } as never,
  requestId: 'r',
  header: (name) => headers[name] ?? '',
  headerCount: (name) => (name in headers ? 1 : 0),
  addReplyHeader: () => {},
})

describe('while sign-in is off', () => {
  test.each<[string, RouteAccess, Readonly<Record<string, string>>]>([
    ['nothing', 'hook', {}],
    ['a token', 'hook', { authorization: 'Bearer a.b.c' }],
    ['a token', 'session', { authorization: 'Bearer a.b.c' }],
    ['a signature that the route does not use', 'session', { 'x-hook-signature': 't=1,sha256=ab' }],
  ])('a request with %s to a route with access %s is anonymous', (_, access, headers) => {
    expect(anonymousCallers('a secret')(requestWith(headers), access)).toBe(anonymous)
  })

  test.each(['t=1,sha256=ab', ''])('the signature %j is left to the route of the hook to check', (signature) => {
    const request = requestWith({ 'x-hook-signature': signature, authorization: 'Bearer a.b.c' })
    expect(anonymousCallers('a secret')(request, 'hook')).toBe(unauthenticated)
  })

  test.each([undefined, ''])('signatures are not checked if the secret is %j', (secret) => {
    expect(anonymousCallers(secret)(requestWith({ 'x-hook-signature': 't=1,sha256=ab' }), 'hook')).toBe(anonymous)
  })
})
