import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { beforeEach, describe, expect, test } from 'vitest'
import { makeSigningKey, publishedKeyOf, type SigningKey } from '#access/signing-keys'
import { Tokens, tokenGenerationMs } from '#access/tokens'
import type { Grant } from '#model/scope'
import { makeKeyPair } from '#test/access/key-pair'
import { signJws } from '#test/access/proof-draft'
import { ManualWorld, startMs } from '#test/runtime/manual-world'

const issuer = 'https://devices.example'
const [tenant, user, session] = ['acme', 'User111111', 'Session111']
const lifetimeMs = 600_000
const jkt = makeKeyPair().jkt
const everywhere: Grant = { permissions: { service: ['read'] }, devices: ['*'], services: ['*'] }

let world: ManualWorld
let keys: SigningKey[]
let tokens: Tokens

beforeEach(() => {
  world = new ManualWorld()
  keys = [makeSigningKey((bytes) => world.random(bytes))]
  tokens = tokensOf()
})

/** Another process with the same keys. */
function tokensOf(): Tokens {
  return new Tokens({
    now: () => world.now(),
    random: (bytes) => world.random(bytes),
    keys: () => ({ current: keys[0] as SigningKey, find: (kid) => keys.find((key) => key.kid === kid) }),
    issuer,
  })
}

function access(more: { jkt?: string; grants?: readonly Grant[]; roles?: readonly string[] } = {}): Promise<string> {
  return tokens.issueAccess({
    tenant,
    user,
    session,
    number: 7,
    roles: ['viewer'],
    grants: [everywhere],
    lifetimeMs,
    ...more,
  })
}

const jwks = () => createLocalJWKSet({ keys: keys.map((key) => ({ ...publishedKeyOf(key) })) })

describe('an access token', () => {
  test('has the claims of the contract, and jose accepts it with the published key', async () => {
    const text = await access({ jkt })
    const { payload, protectedHeader } = await jwtVerify(text, jwks(), {
      issuer,
      audience: issuer,
      algorithms: ['ES256'],
      typ: 'at+jwt',
      currentDate: new Date(startMs),
    })
    expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: keys[0]?.kid })
    expect(payload).toEqual({
      iss: issuer,
      aud: issuer,
      sub: `crn#user:${user}`,
      tenant,
      sid: session,
      jti: expect.stringMatching(/^[\w-]{22}\.7$/),
      iat: startMs / 1000,
      exp: startMs / 1000 + 600,
      roles: ['viewer'],
      ...everywhere,
      cnf: { jkt },
    })
  })

  test.each([
    [[], false],
    [[everywhere], true],
    [[everywhere, everywhere], false],
    [[{ ...everywhere, devices: names(31) }], true],
    [[{ ...everywhere, devices: names(32) }], false],
    [[{ ...everywhere, devices: names(16), services: names(16) }], true],
    [[{ ...everywhere, devices: names(16), services: names(17) }], false],
  ])('contains rights only if one small grant covers all: case %#', async (grants, isContained) => {
    const { permissions, devices, services } = decodeJwt(await access({ grants }))
    expect({ permissions, devices, services }).toEqual(isContained ? grants[0] : {})
  })

  test('can be read if it has the largest possible size', async () => {
    const roles = Array.from({ length: 32 }, (_, index) => `${index}`.padEnd(64, 'r'))
    const grants = [{ ...everywhere, devices: Array.from({ length: 31 }, (_, index) => `${index}`.padEnd(64, 'D')) }]
    const text = await access({ jkt, roles, grants })
    expect((await tokensOf().read(text)).token?.session).toBe(session)
  })

  test('gives the same caller in this and in another process', async () => {
    const text = await access({ jkt })
    const expected = {
      tenant,
      user,
      session,
      number: 7,
      expiresAt: startMs + lifetimeMs,
      jkt,
      hash: expect.any(String),
    }
    expect(await tokens.read(text)).toEqual({ token: expected })
    expect(await tokensOf().read(text)).toEqual({ token: expected })
    expect((await tokensOf().read(await access())).token).not.toHaveProperty('jkt')
  })

  test('gives the same object at each read', async () => {
    const text = await access()
    expect((await tokens.read(text)).token).toBe((await tokens.read(text)).token)
    const others = tokensOf()
    expect((await others.read(text)).token).toBe((await others.read(text)).token)
  })

  test('is valid until it expires, and still names its caller afterwards', async () => {
    const text = await access()
    world.spend(lifetimeMs - 1)
    expect((await tokens.read(text)).fault).toBeUndefined()
    world.spend(1)
    for (const reader of [tokens, tokensOf()]) {
      expect(await reader.read(text)).toMatchObject({ fault: 'token expired', token: { session } })
    }
  })

  test('of a retired key is refused in a process that has not read it before', async () => {
    const text = await access()
    keys = [makeSigningKey((bytes) => world.random(bytes)), ...keys]
    expect((await tokensOf().read(text)).token?.session).toBe(session)
    keys = keys.slice(0, 1)
    expect(await tokensOf().read(text)).toEqual({ fault: 'invalid token' })
  })

  test('is another text at each issue', async () => {
    expect(new Set(await Promise.all(Array.from({ length: 200 }, () => access()))).size).toBe(200)
  })
})

describe('a token can be used only as its own kind', () => {
  const tokenOfEachKind = async () => ({
    access: await access({ jkt }),
    basicRefresh: await tokens.issueBasicRefresh({ tenant, user, session, number: 3, endsAt: startMs + lifetimeMs }),
    secondFactor: await tokens.issueSecondFactor({ tenant, user, version: 7, jkt, isEnrolling: true, lifetimeMs }),
  })
  const uses = {
    access: async (text: string) => (await tokens.read(text)).token,
    basicRefresh: (text: string) => tokens.readBasicRefresh(text),
    secondFactor: (text: string) => tokens.readSecondFactor(text, jkt),
  }
  const kinds = ['access', 'basicRefresh', 'secondFactor'] as const
  test.each(kinds.flatMap((kind) => kinds.map((use) => [kind, use] as const)))(
    'a token of kind %s used as %s',
    async (kind, use) => {
      expect((await uses[use]((await tokenOfEachKind())[kind])) !== undefined).toBe(kind === use)
    },
  )

  test.each(['JWT', 'dpop+jwt', 'AT+JWT', undefined])('a token with typ %s has no use', async (typ) => {
    const text = await access({ jkt })
    const { kid = '', privateKey } = keys[0] as SigningKey
    const signed = signJws({ alg: 'ES256', kid, ...(typ && { typ }) }, decodeJwt(text), privateKey)
    for (const use of kinds) expect(await uses[use](signed)).toBeUndefined()
  })
})

describe('a token that the server never issues', () => {
  test.each([
    ['without an algorithm', { alg: 'none' }, {}],
    ['with another algorithm', { alg: 'HS256' }, {}],
    ['with a critical extension', { crit: ['exp'] }, {}],
    ['without a key id', { kid: undefined }, {}],
    ['with a number as key id', { kid: 1 }, {}],
    ['for no user', {}, { sub: 'crn#device:acme/SENSOR-1' }],
    ['without a user', {}, { sub: undefined }],
    ['for a user without an id', {}, { sub: 'crn#user:' }],
    ['in a tenant with an invalid name', {}, { tenant: 'ACME' }],
    ['of no session', {}, { sid: undefined }],
    ['of a session with an invalid id', {}, { sid: '../other' }],
    ['without an expiry', {}, { exp: undefined }],
    ['with an expiry that is not a number', {}, { exp: '1' }],
    ['bound to no key', {}, { cnf: {} }],
    ['bound to an invalid thumbprint', {}, { cnf: { jkt: 'a' } }],
    ['with invalid roles', {}, { roles: 'admin' }],
  ])('%s is refused even with a valid signature', async (_, header, claims) => {
    const text = await access({ jkt })
    const { privateKey } = keys[0] as SigningKey
    const signed = signJws({ ...decodeProtectedHeader(text), ...header }, { ...decodeJwt(text), ...claims }, privateKey)
    expect(await tokens.read(signed)).toEqual({ fault: 'invalid token' })
  })

  test('that is too long is refused', async () => {
    for (const text of ['x'.repeat(100_000), `${await access()}${'A'.repeat(8192)}`]) {
      expect(await tokens.read(text)).toEqual({ fault: 'invalid token' })
    }
  })
})

describe('a refresh token of the Basic scheme', () => {
  const issue = (number: number, endsAt = startMs + lifetimeMs) =>
    tokens.issueBasicRefresh({ tenant, user, session, number, endsAt })

  test.each([1, 2, 9_999_999_999])('contains number %i and its session until it expires', async (number) => {
    const text = await issue(number)
    expect(await tokensOf().readBasicRefresh(text)).toEqual({ tenant, session, number })
    world.spend(lifetimeMs - 1)
    expect(await tokens.readBasicRefresh(text)).toBeDefined()
    world.spend(1)
    expect(await tokens.readBasicRefresh(text)).toBeUndefined()
  })

  test.each([
    '',
    '1',
    'Session111',
    'Session111.',
    'Session111.0',
    'Session111.01',
    'Session111.-1',
    'Session111.1.1',
    'Other11111.1',
  ])('with jti %j is refused', async (jti) => {
    const { privateKey } = keys[0] as SigningKey
    const good = await issue(1)
    expect(
      await tokens.readBasicRefresh(signJws(decodeProtectedHeader(good), { ...decodeJwt(good), jti }, privateKey)),
    ).toBeUndefined()
  })
})

describe('a token for the second factor', () => {
  const issue = () => tokens.issueSecondFactor({ tenant, user, version: 7, jkt, isEnrolling: false, lifetimeMs })

  test('contains its user and key until it expires', async () => {
    const text = await issue()
    const read = await tokens.readSecondFactor(text, jkt)
    expect(read).toEqual({ tenant, user, version: 7, isEnrolling: false, id: expect.any(String) })
    expect((await tokens.readSecondFactor(await issue(), jkt))?.id).not.toBe(read?.id)
    expect(await tokens.readSecondFactor(text, makeKeyPair().jkt)).toBeUndefined()
    world.spend(lifetimeMs)
    expect(await tokens.readSecondFactor(text, jkt)).toBeUndefined()
  })
})

test('an unused token leaves the cache, and is then verified again', async () => {
  const [used, idle] = [await access(), await access()]
  const readOnce = (await tokens.read(used)).token
  const readIdle = (await tokens.read(idle)).token
  for (let generation = 0; generation < 2; generation++) {
    world.spend(tokenGenerationMs)
    expect((await tokens.read(used)).token).toBe(readOnce)
  }
  const readAgain = (await tokens.read(idle)).token
  expect(readAgain).toEqual(readIdle)
  expect(readAgain).not.toBe(readIdle)
})

function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `D-${index}`)
}
