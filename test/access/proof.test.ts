import { generateKeyPair, generateProof } from 'dpop'
import { calculateJwkThumbprint, exportJWK } from 'jose'
import { describe, expect, test } from 'vitest'
import { everything } from '#model/scope'
import { requestWith } from '#test/access/authentication-request'
import { draftOf, type ProofDraft, proofOf } from '#test/access/proof-draft'
import { type Answer, ProofFixture } from '#test/access/proof-fixture'
import { type ProofContext, type ProofRequestText, request } from '#test/access/wrong-proof'
import { proofOfLength, wrongProofs } from '#test/access/wrong-proofs'

/** Requests with valid proofs, which all succeed. */
type RightProofRow = readonly [name: string, requests: (context: ProofContext) => readonly ProofRequestText[]]

function withClaims(claims: (context: ProofContext) => Record<string, unknown>): RightProofRow[1] {
  return (context) => {
    const draft = draftOf(context, context.key, context.tokens.bound)
    return [requestOf(context, { ...draft, claims: { ...draft.claims, ...claims(context) } })]
  }
}

function requestOf(context: ProofContext, draft: ProofDraft, scheme?: string): ProofRequestText {
  return request(context.tokens.bound, proofOf(draft), scheme)
}

const htuOf = ({ origin, path }: ProofContext) => origin + path
const ordinaryDraft = (context: ProofContext) => draftOf(context, context.key, context.tokens.bound)
const additionalMembers = { alg: 'ES256', use: 'sig', kid: 'a', key_ops: ['verify'], ext: true }

const rightProofs: readonly RightProofRow[] = [
  ['an ordinary proof', withClaims(() => ({}))],
  ['htu with a query', withClaims((context) => ({ htu: `${htuOf(context)}?a=b` }))],
  ['htu with a fragment', withClaims((context) => ({ htu: `${htuOf(context)}#a?b` }))],
  ['htu with scheme and host in upper case', withClaims(({ origin, path }) => ({ htu: origin.toUpperCase() + path }))],
  ['a request with a query', (context) => [{ ...requestOf(context, ordinaryDraft(context)), query: 'a=b' }]],
  ['iat 60 s ago', withClaims((context) => ({ iat: context.nowS() - 60 }))],
  ['iat 60 s ahead', withClaims((context) => ({ iat: context.nowS() + 60 }))],
  ['jti of 128 characters', withClaims(() => ({ jti: 'j'.repeat(128) }))],
  ['iss, exp and nbf, which are not checked', withClaims(() => ({ iss: 'me', exp: 1, nbf: 9e9 }))],
  ['a public key with additional members', withAdditional],
  ['the scheme in lower case', (context) => [requestOf(context, ordinaryDraft(context), 'dpop')]],
  [
    'two requests with different proofs of one key',
    (context) => [1, 2].map(() => requestOf(context, ordinaryDraft(context))),
  ],
  ['the same jti from two keys, each with its own token', sameJtiOfTwoKeys],
]

function withAdditional(context: ProofContext): readonly ProofRequestText[] {
  const draft = ordinaryDraft(context)
  const header = { ...draft.header, jwk: { ...context.key.jwk, ...additionalMembers } }
  return [requestOf(context, { ...draft, header })]
}

function sameJtiOfTwoKeys(context: ProofContext): readonly ProofRequestText[] {
  const { key, otherKey, tokens } = context
  const owners = [
    [key, tokens.bound],
    [otherKey, tokens.otherBound],
  ] as const
  return owners.map(([owner, token]) => {
    const draft = draftOf(context, owner, token)
    return request(token, proofOf({ ...draft, claims: { ...draft.claims, jti: 'the same' } }))
  })
}

describe('a proof is refused', () => {
  test.each(wrongProofs)('%i %s', async (number, _, requests, refusal) => {
    const fixture = await ProofFixture.open(number === 104 ? { entriesMax: 4 } : {})
    const answers: Answer[] = []
    for (const one of requests(fixture.context)) answers.push(await fixture.answer(one))
    expect(answers.pop()?.refusal).toEqual(refusal)
    for (const { refusal: before } of answers) expect(before).toBeUndefined()
  })

  test('in each row before row 90, and then a valid proof is accepted', async () => {
    const fixture = await ProofFixture.open()
    const { context: maker } = fixture
    for (const [number, , requests] of wrongProofs) {
      if (number >= 90) continue
      for (const one of requests(maker)) expect((await fixture.answer(one)).refusal).toBeDefined()
      expect((await fixture.answer(goodRequest(fixture))).refusal).toBeUndefined()
    }
  })

  test('if the request has two proofs, also where only the first is visible', async () => {
    const { context: maker, proofs } = await ProofFixture.open()
    const proof = proofOf(draftOf(maker, maker.key))
    const requestWithProofs = (count: number) => requestWith({ dpop: proof }, { headerCount: () => count })
    await expect(proofs.check(requestWithProofs(2), undefined)).rejects.toThrow('invalid proof')
    expect((await proofs.check(requestWithProofs(1), undefined)).jkt).toBe(maker.key.jkt)
  })

  test('in each of the 105 rows of the contract', () => {
    const numbers = new Set(wrongProofs.map(([number]) => number))
    expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: 105 }, (_, index) => index + 1))
  })
})

describe('a proof is accepted', () => {
  test.each(rightProofs)('%s', async (_, requests) => {
    const fixture = await ProofFixture.open()
    for (const one of requests(fixture.context)) expect((await fixture.answer(one)).refusal).toBeUndefined()
  })

  test('with 4 096 characters', async () => {
    const fixture = await ProofFixture.open()
    const proof = proofOfLength(fixture.context, 4096)
    expect((await fixture.answer(request(fixture.context.tokens.bound, proof))).refusal).toBeUndefined()
  })

  test.each([
    ['https://devices.example', ['https://devices.example'], 'default port is left out'],
    ['https://devices.example:443', ['https://devices.example'], 'default port is written out'],
    ['http://devices.example:80', ['http://devices.example'], 'default port of http'],
    ['https://devices.example', ['https://devices.example:443'], 'default port is in the public origin'],
    ['HTTPS://Devices.Example', ['https://devices.example'], 'scheme and host are in another case'],
    ['http://[::1]:8080', ['http://[::1]:8080'], 'an address of IPv6'],
    ['https://b.example/prefix', ['https://a.example', 'https://b.example/prefix'], 'the second of the public origins'],
  ])('with htu at %s if the public origins are %j: %s', async (claimed, origins) => {
    const fixture = await ProofFixture.open({ forwarded: { origins } })
    expect((await fixture.answer(requestAt(fixture, claimed))).refusal).toBeUndefined()
  })

  test.each([
    ['https://devices.example:80', ['https://devices.example']],
    ['http://devices.example:443', ['http://devices.example']],
    ['https://devices.example:0443', ['https://devices.example']],
    ['https://b.example/Prefix', ['https://b.example/prefix']],
    ['https://b.example', ['https://b.example/prefix']],
    ['https://b.example/prefix/', ['https://b.example/prefix']],
    ['https://a.example', []],
    ['http://[::1]:8080', ['http://[::2]:8080']],
    ['https://devices.example\\@evil.example', ['https://devices.example']],
    ['https://devices.example@evil.example', ['https://devices.example']],
    ['https:devices.example', ['https://devices.example']],
    ['nowhere', ['elsewhere']],
    ['https:///devices.example', ['https://devices.example']],
  ])('but not with htu at %s if the public origins are %j', async (claimed, origins) => {
    const fixture = await ProofFixture.open({ forwarded: { origins } })
    expect((await fixture.answer(requestAt(fixture, claimed))).refusal?.error).toBe('htu mismatch')
  })
})

describe('the nonce of a proof', () => {
  test('is accepted in the five minutes after its window, and the answer has the next nonce', async () => {
    const fixture = await ProofFixture.open()
    const old = fixture.nonces.current
    fixture.world.spend(300_000)
    const { refusal, nonce } = await fixture.answer(
      goodRequest(fixture, (draft) => Object.assign(draft.claims, { nonce: old })),
    )
    expect(refusal).toBeUndefined()
    expect(nonce).toBe(fixture.nonces.current)
    expect(nonce).not.toBe(old)
  })

  test('is answered with the next nonce after its window, also if the proof is refused', async () => {
    const fixture = await ProofFixture.open()
    const old = fixture.nonces.current
    fixture.world.spend(300_000)
    const spoil = (draft: ProofDraft) => Object.assign(draft.claims, { nonce: old, ath: '' })
    const { refusal, nonce } = await fixture.answer(goodRequest(fixture, spoil))
    expect(refusal?.error).toBe('ath does not match the access token')
    expect(nonce).toBe(fixture.nonces.current)
  })

  test('is not answered with a nonce in its own window', async () => {
    const fixture = await ProofFixture.open()
    expect(await fixture.answer(goodRequest(fixture))).toEqual({ refusal: undefined, nonce: undefined })
  })
})

describe('cached keys', () => {
  test('come only from proofs that passed every check', async () => {
    const fixture = await ProofFixture.open()
    const { bound, unbound, expired } = fixture.context.tokens
    const headerOf = (proof: string) => proof.split('.')[0] ?? ''
    for (const token of [unbound, expired]) {
      const proof = proofOf(draftOf(fixture.context, fixture.context.key, token))
      await fixture.answer(request(token, proof))
      expect(fixture.keys.get(headerOf(proof), fixture.world.now())).toBeUndefined()
    }
    const good = proofOf(draftOf(fixture.context, fixture.context.key, bound))
    await fixture.answer(request(bound, good))
    expect(fixture.keys.get(headerOf(good), fixture.world.now())?.jkt).toBe(fixture.context.key.jkt)
  })

  test.each([
    [1_024, true],
    [1_026, false],
  ])('with a header of %i characters: %s', async (length, isCached) => {
    const fixture = await ProofFixture.open()
    const { context, keys, world } = fixture
    const draft = draftOf(context, context.key, context.tokens.bound)
    const proof = proofOf({ ...draft, headerText: JSON.stringify(draft.header).padEnd(Math.floor((length * 3) / 4)) })
    expect((await fixture.answer(request(context.tokens.bound, proof))).refusal).toBeUndefined()
    expect(proof.indexOf('.')).toBe(length)
    expect(keys.get(proof.slice(0, length), world.now()) !== undefined).toBe(isCached)
  })

  test('do not make a proof with another signature valid', async () => {
    const fixture = await ProofFixture.open()
    await fixture.answer(goodRequest(fixture))
    const [, , requests] = wrongProofs.find(([number]) => number === 76) ?? []
    for (const one of requests?.(fixture.context) ?? []) {
      expect((await fixture.answer(one)).refusal?.error).toBe('invalid proof')
    }
  })
})

test('a used proof is stored while it could be used again', async () => {
  const fixture = await ProofFixture.open()
  const early = goodRequest(fixture, (draft) => Object.assign(draft.claims, { iat: fixture.context.nowS() + 60 }))
  expect((await fixture.answer(early)).refusal).toBeUndefined()
  const errors = new Map<string, number>()
  for (let ms = 0; ms < 125_000; ms += 50) {
    const { refusal } = await fixture.answer(early)
    errors.set(refusal?.error ?? 'accepted', ms)
    fixture.world.spend(50)
  }
  expect(errors.has('accepted')).toBe(false)
  expect(errors.get('proof already used')).toBe(120_950)
  expect(errors.has('iat outside tolerance')).toBe(true)
})

function goodRequest(fixture: ProofFixture, spoil: (draft: ProofDraft) => void = () => {}) {
  const { key, tokens } = fixture.context
  const draft = draftOf(fixture.context, key, tokens.bound)
  spoil(draft)
  return request(tokens.bound, proofOf(draft))
}

function requestAt(fixture: ProofFixture, claimed: string) {
  return goodRequest(fixture, (draft) => Object.assign(draft.claims, { htu: claimed + fixture.context.path }))
}

test('a thousand proofs of an independent client are accepted, each once', async () => {
  const fixture = await ProofFixture.open()
  // The client uses the system clock for `iat`.
  fixture.world.spend(Date.now() - fixture.world.now())
  const { method, origin, path } = fixture.context
  for (let client = 0; client < 10; client++) {
    const pair = await generateKeyPair('ES256')
    const jkt = await calculateJwkThumbprint(await exportJWK(pair.publicKey))
    const of = { tenant: 'default', user: 'User111111', session: 'Session111', number: 1, roles: ['admin'] }
    const token = await fixture.tokens.issueAccess({ ...of, grants: everything.grants, jkt, lifetimeMs: 600_000 })
    for (let count = 0; count < 100; count++) {
      const proof = await generateProof(pair, origin + path, method, fixture.nonces.current, token)
      expect((await fixture.answer(request(token, proof))).refusal).toBeUndefined()
      expect((await fixture.answer(request(token, proof))).refusal?.error).toBe('proof already used')
    }
  }
})
