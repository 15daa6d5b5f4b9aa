import { describe, expect, test } from 'vitest'
import { ImageUrls, UnsubscribeUrls } from '#access/signed-urls'

const key = Uint8Array.from({ length: 32 }, (_, index) => index)
const otherKey = () => Uint8Array.from(key, (byte) => byte ^ 1)

/** Copies of the fields in which one text is longer, shorter, empty, or has another character. */
function changesOf<Fields extends Readonly<Record<string, string>>>(fields: Fields): readonly Fields[] {
  return Object.entries(fields).flatMap(([name, text]) => {
    const others = [`${text}0`, ` ${text}`, `${text}\n`, text.slice(1), '']
    for (let at = 0; at < text.length; at++) {
      for (const other of ['0', '1', 'A', '/', '\n']) {
        if (text[at] !== other) others.push(text.slice(0, at) + other + text.slice(at + 1))
      }
    }
    return others.map((other) => ({ ...fields, [name]: other }))
  })
}

describe('the signed URL of an image', () => {
  const urls = new ImageUrls(() => key)
  const sha256 = 'ab'.repeat(32)
  const now = 1_700_000_000_000
  const queryOf = (text: string) => {
    const query = new URLSearchParams(text)
    return { device: query.get('device') ?? '', exp: query.get('exp') ?? '', sig: query.get('sig') ?? '' }
  }
  const signed = queryOf(urls.queryOf(sha256, 'A1', now + 1_000))

  test('is the same each time, contains device and expiry, and is valid until it expires', () => {
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

  test('is invalid after any change, and under another key', () => {
    for (const changed of changesOf({ sha256, ...signed }))
      expect(urls.isValid(changed.sha256, changed, now), JSON.stringify(changed)).toBe(false)
    expect(new ImageUrls(otherKey).isValid(sha256, signed, now)).toBe(false)
  })
})

describe('the unsubscribe URL', () => {
  const urls = new UnsubscribeUrls(() => key)
  const subject = { tenant: 'acme', user: 'crn#user:2Vb7qYx9Kd', subscription: '3Xc8rZy1Le' }
  const text = urls.urlOf('https://devices.example', subject)
  const { origin, pathname, searchParams } = new URL(text)
  const sig = searchParams.get('sig') ?? ''

  test('names the subscription below the API path, is the same each time, and is valid', () => {
    expect([origin, pathname]).toEqual(['https://devices.example', '/api/v1/notifications/unsubscribe/3Xc8rZy1Le'])
    expect([searchParams.get('tenant'), searchParams.get('user')]).toEqual([subject.tenant, subject.user])
    expect(urls.urlOf('https://devices.example', subject)).toBe(text)
    expect(urls.isValid(subject, sig)).toBe(true)
  })

  test('begins with the path of the public URL, and has only characters that headers allow', () => {
    const url = urls.urlOf('https://devices.example/prefix', { ...subject, user: 'crn#user:anonymous' })
    expect(url).toMatch(/^https:\/\/devices\.example\/prefix\/api\/v1\/notifications\/unsubscribe\/[!-;=?-~]+$/)
  })

  test('is invalid after any change, and under another key', () => {
    for (const { sig: other, ...changed } of changesOf({ ...subject, sig }))
      expect(urls.isValid(changed, other), JSON.stringify(changed)).toBe(false)
    expect(new UnsubscribeUrls(otherKey).isValid(subject, sig)).toBe(false)
  })
})
