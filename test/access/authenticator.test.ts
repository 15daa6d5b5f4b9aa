import { describe, expect, test } from 'vitest'
import { anonymous, anonymousCallers } from '#access/built-in-callers'
import type { RouteAccess } from '#api/route-entry'
import { unauthenticated } from '#model/caller'
import { requestWith } from '#test/access/authentication-request'
import { IdentityFixture } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'

const key = makeKeyPair()

/** Headers with credentials, by the name of the kind of credentials. */
async function credentials(fixture: IdentityFixture) {
  await fixture.addUser('ann')
  const { accessToken, refreshToken } = await fixture.logIn('ann', key)
  const { token } = await fixture.basic('ann')
  const proof = () => fixture.proof(key)
  return {
    nothing: () => ({}),
    'a proof': () => ({ dpop: proof() }),
    bearer: () => ({ authorization: `Bearer ${token}` }),
    'bearer, other case': () => ({ authorization: `bEARER ${token}` }),
    'bearer and proof': () => ({ authorization: `Bearer ${token}`, dpop: fixture.proof(key, { token }) }),
    'bearer and bad proof': () => ({ authorization: `Bearer ${token}`, dpop: proof() }),
    'two bearers': () => ({ authorization: [`Bearer ${token}`, `Bearer ${token}`] }),
    'a bound token as bearer': () => ({ authorization: `Bearer ${accessToken}` }),
    dpop: () => ({ authorization: `DPoP ${accessToken}`, dpop: fixture.proof(key, { token: accessToken }) }),
    'dpop without proof': () => ({ authorization: `DPoP ${accessToken}` }),
    'an unbound token as dpop': () => ({ authorization: `DPoP ${token}`, dpop: fixture.proof(key, { token }) }),
    'a refresh token': () => ({ authorization: `Bearer ${refreshToken}` }),
    garbage: () => ({ authorization: 'Bearer a.b.c' }),
    'no token': () => ({ authorization: 'Bearer ' }),
    basic: () => ({ authorization: `Basic ${Buffer.from('ann:correct horse').toString('base64')}` }),
  }
}

const required = 'unauthorized authentication required'
const invalid = 'unauthorized invalid token'
const missing = 'unauthorized missing proof'
const permission: RouteAccess = { resource: 'users', action: 'read', within: 'tenant' }

test.each<[Exclude<keyof Awaited<ReturnType<typeof credentials>>, number>, Record<string, string | undefined>]>([
  ['nothing', { session: required, user: required, proof: missing, 'user or proof': missing, link: required }],
  ['a proof', { session: required, user: required, proof: undefined, 'user or proof': undefined }],
  ['bearer', { session: undefined, user: undefined, proof: missing, 'user or proof': undefined }],
  ['bearer, other case', { session: undefined }],
  ['bearer and proof', { session: undefined, 'user or proof': undefined }],
  ['bearer and bad proof', { session: undefined, 'user or proof': 'unauthorized ath does not match the access token' }],
  ['two bearers', { session: 'unauthorized more than one credential', link: 'unauthorized more than one credential' }],
  ['a bound token as bearer', { session: 'unauthorized use the DPoP scheme' }],
  ['dpop', { session: undefined, user: undefined, 'user or proof': undefined }],
  ['dpop without proof', { session: missing, 'user or proof': missing }],
  ['an unbound token as dpop', { session: 'unauthorized key mismatch' }],
  ['a refresh token', { session: invalid }],
  ['garbage', { session: invalid }],
  ['no token', { session: invalid }],
  ['basic', { session: required, link: 'unauthorized invalid credentials' }],
])('credentials are accepted or refused, depending on the route: %s', async (name, expected) => {
  const fixture = await IdentityFixture.open()
  const shown = (await credentials(fixture))[name]
  for (const [access, refusal] of Object.entries(expected)) {
    const authenticate = () => fixture.caller({ headers: shown() }, access as RouteAccess)
    expect(await fixture.judge(authenticate), access).toBe(refusal)
    if (access === 'session') {
      expect(await fixture.judge(() => fixture.caller({ headers: shown() }, permission))).toBe(refusal)
    }
  }
  expect(await fixture.caller({ headers: shown() }, 'none')).toMatchObject({ tenant: '', roles: [] })
})

test('a signature of the update hook is left to the route to check, also with any other credentials', async () => {
  const fixture = await IdentityFixture.open()
  const shown = await credentials(fixture)
  const signature = { 'x-hook-signature': 't=1,sha256=ab' }
  for (const name of ['nothing', 'bearer', 'garbage', 'two bearers'] as const) {
    expect(await fixture.caller({ headers: { ...shown[name](), ...signature } }, 'hook')).toBe(unauthenticated)
  }
  // An empty header counts as a signature too.
  expect(await fixture.caller({ headers: { ...shown.bearer(), 'x-hook-signature': '' } }, 'hook')).toBe(unauthenticated)
  expect(await fixture.caller({ headers: shown.bearer() }, 'hook')).toMatchObject({ name: 'ann' })
  expect(await fixture.caller({ headers: shown.dpop() }, 'hook')).toMatchObject({ name: 'ann' })
  expect(await fixture.judge(() => fixture.caller({ headers: shown.garbage() }, 'hook'))).toBe(invalid)
  expect(await fixture.judge(() => fixture.caller({ headers: {} }, 'hook'))).toBe(required)
  // A signature is accepted on no other route.
  expect(await fixture.judge(() => fixture.caller({ headers: signature }, permission))).toBe(required)
})

test('a proof is valid once, and the caller has the key of the proof', async () => {
  const fixture = await IdentityFixture.withAnn()
  const { accessToken: token } = await fixture.logIn('ann', key)
  const headers = { authorization: `DPoP ${token}`, dpop: fixture.proof(key, { token }) }
  expect(await fixture.caller({ headers })).toMatchObject({ jkt: key.jkt })
  expect(await fixture.judge(() => fixture.caller({ headers }))).toBe('unauthorized proof already used')
  const { token: unbound } = await fixture.basic('ann')
  const beside = { authorization: `Bearer ${unbound}`, dpop: fixture.proof(key, { token: unbound }) }
  expect(await fixture.caller({ headers: beside }, 'user or proof')).toMatchObject({ name: 'ann', jkt: key.jkt })
  expect(await fixture.judge(() => fixture.caller({ headers: beside }, 'user or proof'))).toBe(
    'unauthorized proof already used',
  )
})

test.each<[string, RouteAccess]>([
  ['dpop', 'session'],
  ['bearer', 'user or proof'],
  ['nothing', 'proof'],
])('one of ten concurrent requests with the same proof succeeds: %s', async (scheme, access) => {
  const fixture = await IdentityFixture.withAnn()
  const { accessToken } = await fixture.logIn('ann', key)
  const { token: unbound } = await fixture.basic('ann')
  const token = { dpop: accessToken, bearer: unbound }[scheme]
  const proof = token === undefined ? fixture.proof(key) : fixture.proof(key, { token })
  const headers = { dpop: proof, ...(token !== undefined && { authorization: `${scheme} ${token}` }) }
  const verdicts = await Promise.all(
    Array.from({ length: 10 }, () => fixture.judge(() => fixture.caller({ headers }, access))),
  )
  expect(verdicts.sort()).toEqual([...Array(9).fill('unauthorized proof already used'), undefined])
})

test('earlier proofs, used or not, are invalid after a restart', async () => {
  const fixture = await IdentityFixture.withAnn()
  const { accessToken: token } = await fixture.logIn('ann', key)
  const newHeaders = () => ({ authorization: `DPoP ${token}`, dpop: fixture.proof(key, { token }) })
  const [used, unused] = [newHeaders(), newHeaders()]
  expect(await fixture.caller({ headers: used })).toMatchObject({ name: 'ann' })
  const later = await fixture.restart()
  for (const headers of [used, unused]) {
    expect(await later.judge(() => later.caller({ headers }))).toBe('bad_request use_dpop_nonce')
    expect(later.replyHeaders.get('DPoP-Nonce')).toBe(later.nonce())
  }
  // The token itself stays valid.
  expect(await later.bound(token, key)).toMatchObject({ name: 'ann' })
})

test('authentication costs no password hash', async () => {
  const fixture = await IdentityFixture.withAnn()
  const { token } = await fixture.basic('ann')
  fixture.engine.calls.length = 0
  for (let count = 0; count < 100; count++) await fixture.bearer(token)
  expect(fixture.engine.calls).toEqual([])
})

test('an operator has every permission by a token alone, and has no account', async () => {
  const operatorToken = 'a token of this process'.replaceAll(' ', '-')
  const fixture = await IdentityFixture.open({ settings: { operatorToken } })
  expect(await fixture.bearer(operatorToken, permission)).toMatchObject({
    user: 'crn#user:operator',
    tenant: 'default',
  })
  expect(await fixture.judge(() => fixture.bearer(operatorToken, 'user'))).toBe('forbidden Forbidden')
  expect(await fixture.judge(() => fixture.bearer(`${operatorToken}x`))).toBe(invalid)
  expect(fixture.directoryState.users.size).toBe(0)
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
