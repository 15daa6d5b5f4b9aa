import { createPublicKey } from 'node:crypto'
import fc from 'fast-check'
import { calculateJwkThumbprint } from 'jose'
import { describe, expect, test } from 'vitest'
import { fileKeysOf, open, seal } from '#access/file-keys'
import { readPublicJwk, thumbprintOf } from '#access/public-jwk'
import { makeSigningKey, openSigningKey, publishedKeyOf, sealSigningKey } from '#access/signing-keys'
import { makeKeyPair } from '#test/access/key-pair'
import { ManualWorld } from '#test/runtime/manual-world'

const world = new ManualWorld()
const random = (bytes: number) => world.random(bytes)

describe('the keys of the key file', () => {
  const bytes = Uint8Array.from({ length: 32 }, (_, index) => index)

  test('are the same for the same file, and independent of each other', () => {
    const keys = fileKeysOf(bytes)
    expect(fileKeysOf(bytes)).toEqual(keys)
    const texts = [...Object.values(keys), bytes].map((key) => Buffer.from(key).toString('hex'))
    expect(new Set(texts).size).toBe(6)
    for (const text of texts) expect(text).toHaveLength(64)
    expect(fileKeysOf(Uint8Array.from(bytes, (byte) => byte ^ 1)).seal).not.toEqual(keys.seal)
  })

  test.each([0, 16, 31, 33])('cannot be derived from %i bytes', (length) => {
    expect(() => fileKeysOf(new Uint8Array(length))).toThrow(RangeError)
  })
})

describe('a sealed text', () => {
  const key = random(32)

  test('opens with its key for its owner, and the same text is sealed differently each time', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.string(), (plain, context) => {
        const sealed = seal(key, plain, context, random)
        expect(open(key, sealed, context)).toEqual(plain)
        expect(sealed).not.toEqual(seal(key, plain, context, random))
      }),
    )
  })

  const sealed = seal(key, Buffer.from('secret'), 'acme/Ann', random)
  test('opens for no other owner', () => {
    expect(open(key, sealed, 'acme/Bob')).toBeUndefined()
    expect(open(key, sealed, '')).toBeUndefined()
    expect(open(random(32), sealed, 'acme/Ann')).toBeUndefined()
  })

  test('does not open if a byte was changed or is missing', () => {
    for (let index = 0; index < sealed.length; index++) {
      const changed = Uint8Array.from(sealed, (byte, place) => (place === index ? byte ^ 1 : byte))
      expect(open(key, changed, 'acme/Ann')).toBeUndefined()
      expect(open(key, sealed.subarray(0, index), 'acme/Ann')).toBeUndefined()
    }
  })

  test('does not show its plain text', () => {
    expect(Buffer.from(sealed).includes('secret')).toBe(false)
  })
})

describe('a signing key', () => {
  const sealKey = random(32)
  const key = makeSigningKey(random)

  test('follows from its seed', () => {
    const seed = () => {
      const other = new ManualWorld({ seed: 7 })
      return makeSigningKey((bytes) => other.random(bytes))
    }
    expect(seed().kid).toBe(seed().kid)
    expect(seed().kid).not.toBe(key.kid)
  })

  test('has the public key of its private key', () => {
    expect(createPublicKey(key.privateKey).export({ format: 'jwk' })).toEqual(key.publicJwk)
    expect(key.publicKey.export({ format: 'jwk' })).toEqual(key.publicJwk)
  })

  test('has its thumbprint as id, like jose, and shows no private part', async () => {
    const published = publishedKeyOf(key)
    expect(published).toEqual({
      kty: 'EC',
      crv: 'P-256',
      x: expect.any(String),
      y: expect.any(String),
      kid: key.kid,
      alg: 'ES256',
      use: 'sig',
    })
    expect(await calculateJwkThumbprint({ ...published })).toBe(key.kid)
  })

  test('is stored sealed, and opens only under its own id and seal key', () => {
    const sealed = sealSigningKey(sealKey, key, random)
    const opened = openSigningKey(sealKey, key.kid, sealed)
    expect(opened?.publicJwk).toEqual(key.publicJwk)
    expect(opened?.privateKey.equals(key.privateKey)).toBe(true)
    expect(openSigningKey(sealKey, makeSigningKey(random).kid, sealed)).toBeUndefined()
    expect(openSigningKey(random(32), key.kid, sealed)).toBeUndefined()
  })

  test('is not read from other sealed content under its id', () => {
    const sealed = seal(sealKey, random(32), `signing-key/${key.kid}`, random)
    expect(open(sealKey, sealed, `signing-key/${key.kid}`)).toBeDefined()
    expect(openSigningKey(sealKey, key.kid, sealed)).toBeUndefined()
  })

  test('can be made from any random bytes', () => {
    for (let count = 0; count < 200; count++) {
      const made = makeSigningKey(random)
      const { x, y } = made.publicJwk
      expect([x.length, y.length]).toEqual([43, 43])
      expect(openSigningKey(sealKey, made.kid, sealSigningKey(sealKey, made, random))?.kid).toBe(made.kid)
    }
  })

  test.each([0x00, 0xff])('is not generated from bytes %i alone', (byte) => {
    expect(() => makeSigningKey((bytes) => new Uint8Array(bytes).fill(byte))).toThrow('the random source is broken')
  })
})

describe('a public key', () => {
  const { jwk } = makeKeyPair()

  test('is read without unknown fields', () => {
    expect(readPublicJwk({ ...jwk, kid: 'a', use: 'sig', ext: true })).toEqual(jwk)
  })

  test('has the same id as in jose', async () => {
    expect(thumbprintOf(jwk)).toBe(await calculateJwkThumbprint({ ...jwk }))
    expect(thumbprintOf({ y: jwk.y, x: jwk.x, crv: 'P-256', kty: 'EC' })).toBe(thumbprintOf(jwk))
  })

  test.each(['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'priv'])('is refused with %s', (member) => {
    expect(readPublicJwk({ ...jwk, [member]: '' })).toBeUndefined()
  })

  test.each([
    { kty: 'ec' },
    { crv: 'p-256' },
    { x: '' },
    { x: 1 },
    { x: `${jwk.x}A` },
    { y: jwk.y.slice(1) },
    { y: `${jwk.y.slice(0, 42)}B` },
    { y: `${jwk.y.slice(0, 42)}=` },
  ])('is refused with %j', (change) => {
    expect(readPublicJwk({ ...jwk, ...change })).toBeUndefined()
  })
})
