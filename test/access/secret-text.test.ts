import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { newRecoveryCodes, recoveryCodeOf } from '#access/factor-codes'
import {
  apiKeyText,
  base64urlOf,
  hashOf,
  isBase64url,
  isCompactJws,
  isHashOf,
  newCode,
  newSecret,
  provisioningKeyText,
  readApiKey,
  readBase64url,
  readBasic,
  readProvisioningKey,
} from '#access/secret-text'
import { ManualWorld } from '#test/runtime/manual-world'

const world = new ManualWorld()
const random = (bytes: number) => world.random(bytes)
const secret = newSecret(random)
const id = 'Key1111111'

describe('generated secrets', () => {
  test.each([
    ['a secret', () => newSecret(random), /^[\w-]{43}$/],
    ['a code', () => newCode(random), /^[1-9A-HJ-NP-Za-km-z]{22}$/],
    ['a recovery code', () => newRecoveryCodes(random)[0] ?? '', /^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/],
  ])('such as %s have the right format, and each is another text', (_, make, pattern) => {
    const all = Array.from({ length: 500 }, make)
    for (const one of all) expect(one).toMatch(pattern)
    expect(new Set(all).size).toBe(500)
  })

  test('include ten recovery codes, which are all different', () => {
    expect(new Set(newRecoveryCodes(random)).size).toBe(10)
  })

  test.each([
    [0x00, 'AAAA-AAAA-AAAA-AAAA'],
    [0xff, '7777-7777-7777-7777'],
    [0x0f, 'B4HQ-6DYP-B4HQ-6DYP'],
  ])('include a recovery code of bytes %i, in the Base32 of RFC 4648', (byte, code) => {
    expect(newRecoveryCodes((bytes) => new Uint8Array(bytes).fill(byte))[0]).toBe(code)
  })
})

describe('a hash', () => {
  test('is SHA-256 of one text', () => {
    expect(Buffer.from(hashOf(secret))).toEqual(createHash('sha256').update(secret).digest())
    expect(isHashOf(secret, hashOf(secret))).toBe(true)
    expect(isHashOf(`${secret}x`, hashOf(secret))).toBe(false)
  })

  test('of a wrong length matches no text', () => {
    for (const length of [0, 16, 31, 33]) expect(isHashOf(secret, new Uint8Array(length))).toBe(false)
  })

  test('is refused for a text that is too long', () => {
    const long = 'x'.repeat(257)
    expect(isHashOf(long, hashOf(long))).toBe(false)
    expect(isHashOf('x'.repeat(256), hashOf('x'.repeat(256)))).toBe(true)
  })
})

describe('the text of a key', () => {
  test('contains the id of its record', () => {
    expect(readApiKey(apiKeyText('acme-1', id, secret))).toEqual({ tenant: 'acme-1', id })
    expect(readProvisioningKey(provisioningKeyText(id, secret))).toEqual({ id })
  })

  test.each([
    '',
    '..',
    `acme.${id}`,
    `acme.${id}.`,
    `ACME.${id}.${secret}`,
    `.${id}.${secret}`,
    `acme.short.${secret}`,
    `acme.${id}.${secret}.`,
    `acme.${id}.${secret}=`,
    `acme.${id}.${secret.slice(1)}`,
    `acme.${id}.${secret.slice(0, 42)}+`,
    ` acme.${id}.${secret}`,
  ])('is not %j', (text) => {
    expect(readApiKey(text)).toBeUndefined()
  })

  test.each(['', '.', id, `${id}.`, `.${secret}`, `${id}.${secret}.`, `short.${secret}`, `${id}.${secret}A`])(
    'of a provisioning key is not %j',
    (text) => {
      expect(readProvisioningKey(text)).toBeUndefined()
    },
  )
})

describe('a typed recovery code', () => {
  test.each(['ABCD-EFGH-IJKL-MNOP', 'abcdefghijklmnop', ' abcd efgh ijkl mnop ', 'aBcD-eFgHiJkL\tmnop'])(
    'such as %j is accepted',
    (typed) => {
      expect(recoveryCodeOf(typed)).toBe('ABCD-EFGH-IJKL-MNOP')
    },
  )

  test('that is too long is refused', () => {
    expect(recoveryCodeOf('A'.repeat(257))).toBe('')
  })
})

describe('a Basic header', () => {
  const basic = (text: string | Uint8Array) => `Basic ${Buffer.from(text).toString('base64')}`

  test.each([
    ['Ann:secret', { name: 'Ann', password: 'secret' }],
    ['Ann:', { name: 'Ann', password: '' }],
    [':secret', { name: '', password: 'secret' }],
    ['Änn 🙂:pässwörd', { name: 'Änn 🙂', password: 'pässwörd' }],
    ['Ann:a:b:c', { name: 'Ann', password: 'a:b:c' }],
    ['acme/SENSOR-1:abc', { name: 'acme/SENSOR-1', password: 'abc' }],
    ['\ufeffAnn:a', { name: '\ufeffAnn', password: 'a' }],
  ])('of %j is read', (text, credentials) => {
    expect(readBasic(basic(text))).toEqual(credentials)
  })

  test.each(['basic', 'BASIC', 'Basic '])('with the scheme written %j is read', (scheme) => {
    expect(readBasic(basic('Ann:secret').replace('Basic', scheme))).toEqual({ name: 'Ann', password: 'secret' })
  })

  test.each([
    '',
    'Basic',
    'Basic ',
    'Bearer QW5uOnNlY3JldA==',
    'Basic QW5uOnNlY3JldA',
    'Basic QW5uOnNlY3JldA=',
    'Basic QW5uOnNlY3JldB==',
    'Basic QW5uOnNlY3JldA== x',
    'Basic QW5uOnNlY3JldA==, Basic QW5uOnNlY3JldA==',
    'Basic QW5u',
    'Basic Ann:secret',
    'BasicQW5uOnNlY3JldA==',
    ' Basic QW5uOnNlY3JldA==',
    'Basic _-8=',
  ])('is not %j', (header) => {
    expect(readBasic(header)).toBeUndefined()
  })

  test('is refused for invalid UTF-8, and above a length', () => {
    expect(readBasic(basic(Uint8Array.of(0x41, 0x3a, 0xff)))).toBeUndefined()
    expect(readBasic(basic(`Ann:${'x'.repeat(7_000)}`))).toBeUndefined()
    expect(readBasic(basic(`Ann:${'x'.repeat(6_000)}`))?.password).toHaveLength(6_000)
  })

  test('is read for any name without a colon and any password', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (name, password) => {
        fc.pre(!name.includes(':') && name.length + password.length < 1_000)
        expect(readBasic(basic(`${name}:${password}`))).toEqual({ name, password })
      }),
    )
  })
})

test('all bytes have one text, which decodes to them', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      const text = base64urlOf(bytes)
      expect(text).toBe(Buffer.from(bytes).toString('base64url'))
      expect(new Uint8Array(readBase64url(text) ?? [])).toEqual(bytes)
    }),
  )
})

test('only the canonical text of bytes is accepted', () => {
  const character = fc.constantFrom(...'ABCDefgh0123-_+/= \n.')
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 12 }), (text) => {
      const isIt = /^(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/.test(text)
      expect(isBase64url(text)).toBe(isIt)
      expect(readBase64url(text) !== undefined).toBe(isIt)
    }),
    { numRuns: 1_000 },
  )
})

test('only the bytes of a view are encoded, not the larger buffer below it', () => {
  expect(base64urlOf(Uint8Array.of(1, 2, 3, 4).subarray(1, 3))).toBe('AgM')
})

test.each(['A', 'AB', 'AAB', 'AAAAB', 'AA==', 'AA=', 'A+AA', 'A/AA', ' AA', 'AA\n', 'ÄA', 'AA\u0000'])(
  'an invalid text such as %j is refused',
  (text) => {
    expect(readBase64url(text)).toBeUndefined()
  },
)

test.each([
  '',
  '..',
  'AAAA.AAAA',
  '.AAAA.AAAA',
  'AAAA..AAAA',
  'AAAA.AAAA.AAAA.',
  'AAAA.AAAA.AAAA.AAAA',
  'AA=.AAAA.AAAA',
  'AB.AAAA.AAAA',
  'AAAA.AAAA.AA AA',
])('a text such as %j is not a JWS', (text) => {
  expect(isCompactJws(text)).toBe(false)
  expect(isCompactJws('AAAA.AA.')).toBe(true)
})
