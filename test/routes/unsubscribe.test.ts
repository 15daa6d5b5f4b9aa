import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { UnsubscribeUrls } from '#access/signed-urls'
import { subscriberAddress } from '#actors/subscriber/state'
import { ServerWithUsers, userOf } from '#test/routes/server-with-users'

/** The end of a subscription by the unsubscribe URL of a mail, without sign-in. RFC 8058, contract 5.7. */

const eve = '2Vb7qYx9Ke'
const id = '9Pw3tKc8La'
const urls = new UnsubscribeUrls(() => new Uint8Array(32).fill(3))
const signed = urls.urlOf('https://host', { tenant: 'default', user: userOf(eve), subscription: id })
/** The input of `fetch` after the base URL. */
const path = signed.slice('https://host/api/v1'.length)

const http = await ServerWithUsers.open({ unsubscribeUrls: urls })
afterAll(() => http.close())

const address = subscriberAddress('default', eve)
const subscriptionIds = () => http.system.peek(address).subscriptions.map((stored) => stored.id)

beforeEach(async () => {
  await http.ask(address, { type: 'erase' })
  for (const [subscription, fn] of [
    [id, '7Gm2sXv5Ha'],
    ['9Pw3tKc8Lb', '7Gm2sXv5Hb'],
  ]) {
    const rest = { type: 'email', locale: 'en', createdBy: userOf(eve), createdAt: 1, origin: '' }
    await http.ask(address, { type: 'subscribe', subscription: { id: subscription, function: fn, ...rest }, from: 0 })
  }
})

const send = (method: string, to: string, init: RequestInit = {}) => fetch(http.base + to, { method, ...init })

describe('one click', () => {
  const multipart = new FormData()
  multipart.set('List-Unsubscribe', 'One-Click')
  test.each<[string, RequestInit]>([
    ['as in RFC 8058', { body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) }],
    ['in parts', { body: multipart }],
    ['with JSON', { body: '{', headers: { 'Content-Type': 'application/json' } }],
    ['without a body', {}],
  ])('ends only its subscription, with one event: %s', async (_, init) => {
    const { entryCount } = http
    for (let times = 0; times < 2; times++) {
      const answer = await send('POST', path, init)
      expect([answer.status, await answer.text(), answer.headers.get('cache-control')]).toEqual([204, '', 'no-store'])
      expect(subscriptionIds()).toEqual(['9Pw3tKc8Lb'])
    }
    expect(http.entryCount - entryCount).toBe(1)
  })

  test('succeeds for a deleted user', async () => {
    await http.ask(address, { type: 'erase' })
    expect((await send('POST', path)).status).toBe(204)
  })

  test('succeeds for a deleted tenant', async () => {
    const url = urls.urlOf('', { tenant: 'gone', user: userOf(eve), subscription: id })
    expect((await send('POST', url.slice('/api/v1'.length))).status).toBe(204)
  })

  test('in a browser shows a page', async () => {
    const answer = await send('POST', path, { headers: { Accept: 'text/html,*/*;q=0.8' } })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await answer.text()).toContain('will not receive these mails')
    expect(subscriptionIds()).toEqual(['9Pw3tKc8Lb'])
  })
})

test.each(['GET', 'HEAD'])('a request by %s changes nothing, because mail scanners follow links', async (method) => {
  const { entryCount } = http
  const answer = await send(method, path)
  expect(answer.status).toBe(200)
  const { headers } = answer
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none';.*frame-ancestors 'none'/)
  expect([headers.get('cache-control'), headers.get('referrer-policy')]).toEqual(['no-store', 'same-origin'])
  const text = await answer.text()
  if (method === 'GET') expect(text.match(/<form method="post">/g)).toHaveLength(1)
  // The page contains no part of the URL, so a URL cannot put anything into the page.
  expect(text).not.toMatch(/2Vb7qYx9Ke|9Pw3tKc8La|default"/)
  expect([subscriptionIds().length, http.entryCount]).toEqual([2, entryCount])
})

describe('a changed URL', () => {
  const sig = new URLSearchParams(path.split('?')[1]).get('sig') ?? ''
  const place = (subscription: string, tenant: string, user: string, by: string) =>
    `/notifications/unsubscribe/${subscription}?${new URLSearchParams({ tenant, user, sig: by })}`
  test.each<[string, string]>([
    ['another subscription', place('9Pw3tKc8Lb', 'default', userOf(eve), sig)],
    ['another tenant', place(id, 'other', userOf(eve), sig)],
    ['another user', place(id, 'default', userOf('2Vb7qYx9Kb'), sig)],
    ['no signature', path.replace(/&sig=.*/, '')],
    ['two signatures', `${path}&sig=${sig}`],
  ])('with %s is answered with 403 without a text', async (_, to) => {
    for (const method of ['GET', 'POST']) {
      const answer = await send(method, to)
      expect([answer.status, await answer.text()]).toEqual([403, ''])
    }
    expect(subscriptionIds()).toHaveLength(2)
  })
})
