import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hasValidMac, readRefreshToken, refreshTokenText } from '#access/tokens'
import { makeKeyPair } from '#test/access/key-pair'
import { withPart } from '#test/access/proof-draft'
import { anyText } from '#test/kit/any-text'

const key = new Uint8Array(32).fill(7)
const subject = { tenant: 'acme', session: 'Session111', number: 1, jkt: makeKeyPair().jkt }
const text = refreshTokenText(key, subject)

function isValid(given: string, jkt = subject.jkt, by = key): boolean {
  const token = readRefreshToken(given)
  return token !== undefined && hasValidMac(by, token, jkt)
}

describe('a refresh token', () => {
  test('is the same text for the same input, and another text for any other input', () => {
    expect(refreshTokenText(key, subject)).toBe(text)
    const others = [
      { ...subject, tenant: 'acme2' },
      { ...subject, session: 'Session112' },
      { ...subject, number: 2 },
      { ...subject, jkt: makeKeyPair().jkt },
    ].map((other) => refreshTokenText(key, other))
    const macs = [text, ...others, refreshTokenText(new Uint8Array(32), subject)].map((one) => one.split('.')[3])
    expect(new Set(macs).size).toBe(6)
  })

  test('contains its session, and is valid only under the server key and for its own key', () => {
    const { mac: _, ...rest } = readRefreshToken(text) ?? {}
    expect(rest).toEqual({ tenant: 'acme', session: 'Session111', number: 1 })
    expect(isValid(text)).toBe(true)
    expect(isValid(text, makeKeyPair().jkt)).toBe(false)
    expect(isValid(text, subject.jkt, new Uint8Array(32))).toBe(false)
  })

  test.each([0, 1, 2, 3] as const)('is invalid if part %i is changed', (place) => {
    const changes = ['acme2', 'Session112', '2', 'A'.repeat(43)]
    expect(isValid(withPart(text, place as 0 | 1 | 2, () => changes[place] ?? ''))).toBe(false)
  })

  test('fits into the limits of a client, even if it is as long as possible', () => {
    const longest = { tenant: 't'.repeat(63), session: 's'.repeat(16), number: 9_999_999_999, jkt: subject.jkt }
    expect(isValid(refreshTokenText(key, longest))).toBe(true)
  })
})

describe('an invalid refresh token', () => {
  test.each([
    '',
    '...',
    'acme.Session111.1',
    `${text}.`,
    `.${text}`,
    `${text}=`,
    withPart(text, 0, () => 'ACME'),
    withPart(text, 1, () => 'Session-11'),
    withPart(text, 2, () => '0'),
    withPart(text, 2, () => '01'),
    withPart(text, 2, () => '1e0'),
    withPart(text, 2, () => '10000000000'),
  ])('such as %j is refused', (given) => {
    expect(readRefreshToken(given)).toBeUndefined()
  })

  test('that is longer than any valid one is refused', () => {
    expect(readRefreshToken(`${'t'.repeat(100_000)}.${text}`)).toBeUndefined()
  })

  test('that is any other text is refused', () => {
    fc.assert(fc.property(anyText(), (given) => !isValid(given)))
  })
})
