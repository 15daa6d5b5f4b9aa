import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { newTotpSecret, totpSecretText, totpStep, totpStepMs, totpUri } from '#access/factor-codes'
import { ManualWorld } from '#test/runtime/manual-world'

const rfcSecret = Uint8Array.from(Buffer.from('12345678901234567890'))

/** An implementation of RFC 4226 §5.3 that shares no code with the server. */
function codeOf(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const at = (mac[19] ?? 0) & 15
  return String((mac.readUInt32BE(at) & 0x7fff_ffff) % 1_000_000).padStart(6, '0')
}

describe('a code', () => {
  test.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('from RFC 6238 for %i s is accepted', (seconds, code) => {
    expect(totpStep(rfcSecret, code, seconds * 1000)).toBe(Math.floor(seconds / 30))
    expect(codeOf(rfcSecret, Math.floor(seconds / 30))).toBe(code)
  })

  const step = 56_666_667
  const begin = step * totpStepMs
  test.each([
    [-1, true],
    [0, true],
    [29_999, true],
    [30_000, true],
    [59_999, true],
    [60_000, false],
    [-30_000, true],
    [-30_001, false],
  ])('is accepted %i ms after the start of its step: %s', (ms, isAccepted) => {
    expect(totpStep(rfcSecret, codeOf(rfcSecret, step), begin + ms)).toBe(isAccepted ? step : undefined)
  })

  test('of the previous or next step is accepted, and the result is the step of the code', () => {
    for (const beside of [-1, 0, 1]) {
      expect(totpStep(rfcSecret, codeOf(rfcSecret, step + beside), begin)).toBe(step + beside)
    }
  })

  test.each(['', '12345', '1234567', ' 287082', '287 082', '28708a', '٢٨٧٠٨٢', '-28708', '2.8708', '0x1234'])(
    'is refused if it is %j',
    (code) => {
      expect(totpStep(rfcSecret, code, 59_000)).toBeUndefined()
    },
  )

  test('of another secret is refused', () => {
    const world = new ManualWorld()
    const secret = newTotpSecret((bytes) => world.random(bytes))
    expect(secret).toHaveLength(20)
    expect(totpStep(secret, codeOf(rfcSecret, step), begin)).toBeUndefined()
    expect(totpStep(secret, codeOf(secret, step), begin)).toBe(step)
  })
})

describe('the setup of an app', () => {
  test('has the secret in Base32', () => {
    expect(totpSecretText(rfcSecret)).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
    const view = Uint8Array.from([...rfcSecret, 1, 2, 3]).subarray(0, 20)
    expect(totpSecretText(view)).toBe(totpSecretText(rfcSecret))
  })

  test('is one URL with the name of the account', () => {
    const uri = new URL(totpUri({ secret: rfcSecret, issuer: 'Device Data Backend', account: 'Änn/1?' }))
    expect(uri.protocol).toBe('otpauth:')
    expect(uri.host).toBe('totp')
    expect(decodeURIComponent(uri.pathname)).toBe('/Device Data Backend:Änn/1?')
    expect(Object.fromEntries(uri.searchParams)).toEqual({
      issuer: 'Device Data Backend',
      secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    })
  })
})
