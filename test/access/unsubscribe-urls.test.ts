import { describe, expect, test } from 'vitest'
import { UnsubscribeUrls } from '#access/signed-urls'

const key = Uint8Array.from({ length: 32 }, (_, index) => index)
const urls = new UnsubscribeUrls(() => key)
const subject = { tenant: 'acme', user: 'crn#user:2Vb7qYx9Kd', subscription: '3Xc8rZy1Le' }

function partsOf(text: string) {
  const { origin, pathname, searchParams } = new URL(text)
  const [tenant, user, sig] = ['tenant', 'user', 'sig'].map((name) => searchParams.get(name) ?? '')
  return { origin, pathname, tenant, user, sig: sig ?? '' }
}

const signed = partsOf(urls.urlOf('https://devices.example', subject))

describe('the unsubscribe URL', () => {
  test('names the subscription below the API path, is the same each time, and is valid', () => {
    const { tenant, user } = subject
    expect(signed).toMatchObject({ origin: 'https://devices.example', tenant, user })
    expect(signed.pathname).toBe('/api/v1/notifications/unsubscribe/3Xc8rZy1Le')
    expect(urls.urlOf('https://devices.example', subject)).toBe(urls.urlOf('https://devices.example', subject))
    expect(urls.isValid(subject, signed.sig)).toBe(true)
  })

  test('follows the path of a public URL, with only characters that headers allow', () => {
    const url = urls.urlOf('https://devices.example/prefix', { ...subject, user: 'crn#user:anonymous' })
    expect(url).toMatch(/^https:\/\/devices\.example\/prefix\/api\/v1\/notifications\/unsubscribe\/[!-;=?-~]+$/)
  })

  test('is invalid after a change of any character in tenant, user, subscription or signature', () => {
    const whole = { ...subject, sig: signed.sig }
    for (const [name, text] of Object.entries(whole)) {
      const others = [`${text}0`, ` ${text}`, `${text}\n`, text.slice(1), '']
      for (let at = 0; at < text.length; at++) {
        for (const other of ['0', '1', 'A', '/', '\n']) {
          if (text[at] !== other) others.push(text.slice(0, at) + other + text.slice(at + 1))
        }
      }
      for (const other of others) {
        const { sig, ...changed } = { ...whole, [name]: other }
        expect(urls.isValid(changed, sig), `${name} ${other}`).toBe(false)
      }
    }
  })

  test('of another key is invalid', () => {
    const other = new UnsubscribeUrls(() => Uint8Array.from(key, (byte) => byte ^ 1))
    expect(other.isValid(subject, signed.sig)).toBe(false)
  })
})
