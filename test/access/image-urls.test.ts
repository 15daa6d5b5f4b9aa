import { describe, expect, test } from 'vitest'
import { ImageUrls } from '#access/signed-urls'

const key = Uint8Array.from({ length: 32 }, (_, index) => index)
const urls = new ImageUrls(() => key)
const sha256 = 'ab'.repeat(32)
const now = 1_700_000_000_000

function queryOf(text: string): { device: string; exp: string; sig: string } {
  const query = new URLSearchParams(text)
  return { device: query.get('device') ?? '', exp: query.get('exp') ?? '', sig: query.get('sig') ?? '' }
}

const signed = queryOf(urls.queryOf(sha256, 'A1', now + 1_000))

describe('the signed URL of an image', () => {
  test('is the same each time, has device and expiry, and is valid until then', () => {
    expect(queryOf(urls.queryOf(sha256, 'A1', now + 1_000))).toEqual(signed)
    expect(signed).toMatchObject({ device: 'A1', exp: String(now + 1_000) })
    expect([now - 1, now, now + 999].map((at) => urls.isValid(sha256, signed, at))).toEqual([true, true, true])
    expect([now + 1_000, now + 2_000].map((at) => urls.isValid(sha256, signed, at))).toEqual([false, false])
  })

  test.each(['acme/A1', '&=A-1', ' +A1', '"\'B2', '%41'])('is valid for a device named %j', (device) => {
    const query = urls.queryOf(sha256, device, now + 1)
    expect(queryOf(query).device).toBe(device)
    expect(urls.isValid(sha256, queryOf(query), now)).toBe(true)
  })

  test('is invalid after a change of any character in image, device, expiry or signature', () => {
    const whole = { sha256, ...signed }
    for (const [name, text] of Object.entries(whole)) {
      const others = [`${text}0`, ` ${text}`, text.slice(1), '']
      for (let at = 0; at < text.length; at++) {
        for (const other of ['0', '1', 'A', '/']) {
          if (text[at] !== other) others.push(text.slice(0, at) + other + text.slice(at + 1))
        }
      }
      for (const other of others) {
        const { sha256: image, ...query } = { ...whole, [name]: other }
        expect(urls.isValid(image, query, now), `${name} ${other}`).toBe(false)
      }
    }
  })

  test('of another key is invalid', () => {
    expect(new ImageUrls(() => Uint8Array.from(key, (byte) => byte ^ 1)).isValid(sha256, signed, now)).toBe(false)
  })
})
