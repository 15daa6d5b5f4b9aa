import { afterAll, expect, test } from 'vitest'
import { anonymous } from '#access/built-in-callers'
import type { Reply } from '#http/call'
import type { Caller } from '#model/caller'
import { openHttp, route, until } from '#test/http/http-fixture'

/** A user with too many requests in flight is refused more; other users are not affected. */

const begun: ((reply: Reply) => void)[] = []

const slow = () => new Promise<Reply>((give) => begun.push(give))
const http = await openHttp({
  bindings: [
    route('GET', '/slow', slow, { access: 'session' }),
    route('GET', '/quick', () => ({ status: 204 }), { access: 'session' }),
  ],
  authenticate: (request): Caller => {
    const user = request.header('authorization')
    return { ...anonymous, user, session: { kind: 'session', tenant: 'default', id: user } }
  },
  requestsPerUserMax: 2,
})
afterAll(() => http.server.close())

const ask = (path: string, authorization: string, signal?: AbortSignal) =>
  fetch(`${http.base}${path}`, { headers: { authorization }, ...(signal && { signal }) })

test('the requests of a user in flight are limited, also those whose client disconnected', async () => {
  const aborter = new AbortController()
  const answered = ask('/slow', 'mallory')
  const givenUp = ask('/slow', 'mallory', aborter.signal).catch(() => undefined)
  await until(() => begun.length === 2)
  const refused = await ask('/quick', 'mallory')
  expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
    429,
    '1',
    { error: 'at most 2 requests of one user at the same time' },
  ])
  expect((await ask('/quick', 'ann')).status).toBe(204)

  // The client disconnected, but its request still runs.
  aborter.abort()
  await givenUp
  begun[0]?.({ status: 204 })
  expect((await answered).status).toBe(204)
  await until(() => http.server.inFlight() === 0)
  const third = ask('/slow', 'mallory')
  await until(() => begun.length === 3)
  expect((await ask('/quick', 'mallory')).status).toBe(429)
  for (const give of begun) give({ status: 204 })
  expect((await third).status).toBe(204)
  const more = [ask('/slow', 'mallory'), ask('/slow', 'mallory')]
  await until(() => begun.length === 5)
  expect((await ask('/quick', 'mallory')).status).toBe(429)
  for (const give of begun) give({ status: 204 })
  expect((await Promise.all(more)).map(({ status }) => status)).toEqual([204, 204])
})
