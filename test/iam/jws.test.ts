import fc from 'fast-check'
import { CompactSign, compactVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { isSigned, readJws, readPart, signJws, splitJws } from '#iam/jws'
import { makeKeyPair } from '#test/iam/key-pair'

const key = makeKeyPair()
const other = makeKeyPair()
const header = { alg: 'ES256', typ: 'at+jwt', kid: 'a' }
const payload = { sub: 'crn#user:Ann1111111', name: 'Änn 🙂', n: 1.5, list: [1, null] }

describe('what we sign', () => {
  const text = signJws(header, payload, key.privateKey)

  test('reads back, signed by its key and by no other', () => {
    const jws = readJws(text)
    expect(jws?.header).toEqual(header)
    expect(jws?.payload).toEqual(payload)
    expect(jws && isSigned(jws.parts, key.publicKey)).toBe(true)
    expect(jws && isSigned(jws.parts, other.publicKey)).toBe(false)
  })

  test('is what jose takes for good', async () => {
    const verified = await compactVerify(text, key.publicKey)
    expect(verified.protectedHeader).toEqual(header)
    expect(JSON.parse(new TextDecoder().decode(verified.payload))).toEqual(payload)
  })
})

test('what jose signs is good here', async () => {
  const bytes = new TextEncoder().encode(JSON.stringify(payload))
  for (let count = 0; count < 100; count++) {
    const text = await new CompactSign(bytes).setProtectedHeader(header).sign(key.privateKey)
    const jws = readJws(text)
    expect(jws && isSigned(jws.parts, key.publicKey)).toBe(true)
  }
})

/** One edit of a text: a character put in, taken out or changed, two swapped, a part repeated. */
const edit = fc.record({
  place: fc.nat({ max: 400 }),
  kind: fc.constantFrom('insert', 'remove', 'change', 'swap', 'double'),
  character: fc.constantFrom(...'ABCxyz019-_+/=.,: \n\u0000é'),
})

function edited(text: string, { place, kind, character }: { place: number; kind: string; character: string }): string {
  const at = place % text.length
  const [before, one, after] = [text.slice(0, at), text.charAt(at), text.slice(at + 1)]
  if (kind === 'insert') return before + character + one + after
  if (kind === 'remove') return before + after
  if (kind === 'change') return before + character + after
  if (kind === 'swap') return before + after.charAt(0) + one + after.slice(1)
  return before + one + one + after
}

describe('a text that was changed', () => {
  test('is taken here only where jose takes it too', async () => {
    const text = signJws(header, payload, key.privateKey)
    let bothTook = 0
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 0, maxLength: 3 }), async (edits) => {
        const changed = edits.reduce(edited, text)
        const jws = readJws(changed)
        const isOurs = jws !== undefined && isSigned(jws.parts, key.publicKey)
        const isTheirs = await compactVerify(changed, key.publicKey).then(
          () => true,
          () => false,
        )
        // The other way round they differ: trailing bits that mean nothing are let through there.
        if (isOurs) expect(isTheirs).toBe(true)
        expect(isOurs).toBe(changed === text)
        if (isOurs) bothTook++
      }),
      { numRuns: 2_000 },
    )
    expect(bothTook).toBeGreaterThan(0)
  })

  test('by any one bit of its parts is not signed any more', () => {
    const parts = splitJws(signJws(header, payload, key.privateKey))
    const signature = Buffer.from(parts?.signature ?? '', 'base64url')
    for (let bit = 0; bit < signature.length * 8; bit++) {
      const changed = Buffer.from(signature)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const text = changed.toString('base64url')
      expect(parts && isSigned({ ...parts, signature: text }, key.publicKey)).toBe(false)
    }
  })
})

describe('no three parts', () => {
  test.each([
    '',
    '.',
    '..',
    '...',
    'A',
    'AAAA',
    'AAAA.AAAA',
    '.AAAA.AAAA',
    'AAAA..AAAA',
    'AAAA.AAAA.AAAA.',
    'AAAA.AAAA.AAAA.AAAA',
    'AA=.AAAA.AAAA',
    'AAAA.AAAA.A',
  ])('%j', (text) => {
    expect(splitJws(text)).toBeUndefined()
  })

  test('an empty signature is one, of no signature', () => {
    const parts = splitJws('AAAA.AAAA.')
    expect(parts?.signature).toBe('')
    expect(parts && isSigned(parts, key.publicKey)).toBe(false)
  })
})

describe('no object', () => {
  const base64url = (bytes: string | Uint8Array) => Buffer.from(bytes).toString('base64url')
  test.each([
    ['nothing', ''],
    ['null', 'null'],
    ['a number', '1'],
    ['a text', '"a"'],
    ['a list', '[]'],
    ['two', '{}{}'],
    ['one with a BOM', '\ufeff{}'],
    ['half of one', '{"a":1'],
  ])('%s', (_, text) => {
    expect(readPart(base64url(text))).toBeUndefined()
  })

  test('bytes that are not UTF-8', () => {
    expect(readPart(base64url(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d)))).toBeUndefined()
    expect(readPart(base64url('{"é":1}'))).toEqual({ é: 1 })
  })

  test('a prototype that came with it is a member like others', () => {
    const read = readPart(base64url('{"__proto__":{"typ":"dpop+jwt"}}'))
    expect(read?.typ).toBeUndefined()
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
  })
})
