import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DpopClient } from '#test/blackbox/dpop-client'
import { basicHeader, type Credentials, Person, readToken, startWithIdentity, told } from '#test/blackbox/people'
import type { Answer, StartedServer } from '#test/blackbox/started-server'

/** Who guesses has to wait. Contract 2, Rate limits. */
describe('rate limits', () => {
  let server: StartedServer
  let admin: Person
  /** Nobody has failed to be him yet, nor at any of the addresses. */
  let ann: Credentials
  let tests = 0

  beforeAll(async () => {
    server = await startWithIdentity({ RATE_LIMITS: 'on', TRUST_PROXY: '1' })
    admin = await Person.signIn(server)
  })
  beforeEach(async () => {
    tests++
    ann = await admin.bring(`ann${tests}`, ['viewer'])
  })
  /** Whoever is told to come again is in the log, as what is refused for want of room. */
  afterAll(async () => {
    try {
      expect(await server.stop()).toBe(0)
      const unexpected = server.complaints.filter((line) => (line as { status?: number }).status !== 503)
      expect(unexpected).toEqual([])
    } finally {
      await server.discard()
    }
  })

  const at = (number: number) => `10.${tests}.0.${number}`
  const from = (address: string) => ({ 'x-forwarded-for': `203.0.113.99, ${address}` })
  const guess = (name: string, address: string, password = 'wrong horse battery') =>
    server.get('/iam/token', { ...basicHeader({ name, password }), ...from(address) })
  const held = (answer: Answer) => {
    expect(told(answer)).toEqual([429, { error: 'too many attempts' }])
    const seconds = Number(answer.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(60)
  }
  const fail = async (times: number, task: (time: number) => Promise<Answer>) => {
    for (let time = 0; time < times; time++) expect((await task(time)).status).toBe(401)
  }

  test('ten failures of one account at one address; elsewhere and for others it goes on', async () => {
    await fail(10, () => guess(ann.name, at(1)))
    held(await guess(ann.name, at(1)))
    // Also the right password: else it would be told that it is.
    held(await guess(ann.name, at(1), ann.password))
    held(await guess(ann.name.toUpperCase(), at(1), ann.password))
    expect((await guess(ann.name, at(2), ann.password)).status).toBe(200)
    expect((await guess('nobody', at(1))).status).toBe(401)
  })

  test('the address is the rightmost forwarded one: what the client claims moves nothing', async () => {
    await fail(10, (time) =>
      server.get('/iam/token', {
        ...basicHeader({ name: ann.name, password: 'wrong' }),
        'x-forwarded-for': `198.51.100.${time}, ${at(1)}`,
      }),
    )
    held(await guess(ann.name, at(1)))
  })

  test('an address of IPv6 is its network', async () => {
    await fail(10, (time) => guess(ann.name, `2001:db8:0:1::${time + 1}`))
    held(await guess(ann.name, '2001:db8:0:1:ffff::1'))
    expect((await guess(ann.name, '2001:db8:0:2::1')).status).toBe(401)
  })

  test('sixty failures of one address, whoever is meant', async () => {
    await fail(60, (time) => guess(`nobody-${time}`, at(1)))
    held(await guess(ann.name, at(1), ann.password))
    expect((await guess(ann.name, at(2), ann.password)).status).toBe(200)
  })

  test('a hundred failures of one account, wherever from', async () => {
    await fail(100, (time) => guess(ann.name, at(Math.floor(time / 5))))
    held(await guess(ann.name, at(200), ann.password))
    expect((await guess('nobody', at(200))).status).toBe(401)
  })

  test('every door to a password or a code counts, together', async () => {
    const person = await Person.signIn(server, ann)
    const headers = from(at(1))
    const client = await DpopClient.make(server)
    const logIn = () =>
      client.prove('/auth/login', {
        method: 'POST',
        body: { email: ann.name, password: 'wrong horse battery' },
        headers,
      })
    const signUp = () =>
      server.ask('/iam/signup', {
        method: 'POST',
        body: { name: ann.name, code: 'x', password: 'long enough' },
        headers,
      })
    const change = () =>
      person.ask('/auth/password', {
        method: 'PUT',
        body: { current: 'wrong horse battery', password: 'long enough too' },
        headers,
      })
    await fail(4, logIn)
    await fail(3, signUp)
    await fail(2, change)
    await fail(1, () => guess(ann.name, at(1)))
    for (const door of [logIn, signUp, change, () => guess(ann.name, at(1))]) held(await door())
  })

  test('bodies of more than 8 KiB, with too many keys or of the wrong shape count where people sign in', async () => {
    const headers = from(at(1))
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, place) => [`k${place}`, 0]))
    const client = await DpopClient.make(server)
    const post = (path: string, body: unknown) => server.ask(path, { method: 'POST', body, headers })
    const refresh = '/iam/token?grant_type=refresh_token'
    const refusals = [
      await post('/iam/signup', keys(90_000)),
      await post(refresh, keys(90_000)),
      await client.prove('/auth/login', { method: 'POST', body: keys(90_000), headers }),
    ]
    for (const refusal of refusals) expect(told(refusal)).toEqual([413, { error: expect.stringMatching(/8192 bytes/) }])
    for (let time = 0; time < 57; time++) expect((await post('/iam/signup', { name: 7 })).status).toBe(400)
    for (const body of [keys(90_000), { name: 7 }]) held(await post('/iam/signup', body))
    held(await guess(ann.name, at(1), ann.password))
    // Earlier sessions, and malformed bodies of other routes, are not affected.
    expect(told(await post(refresh, { refreshToken: 'x' }))[0]).toBe(401)
    expect((await guess(ann.name, at(2), ann.password)).status).toBe(200)
  })

  test('what succeeds, asks for a nonce or refreshes does not count', async () => {
    for (let time = 0; time < 12; time++) {
      expect((await guess(ann.name, at(1), ann.password)).status).toBe(200)
      const client = await DpopClient.make(server)
      expect(told(await client.prove('/auth/token', { method: 'POST', body: { refreshToken: 'x' } }))[0]).toBe(401)
    }
    expect((await readToken(server, ann)).status).toBe(200)
  })

  test('tokens and keys are not guessed: nobody is shut out by them', async () => {
    for (let time = 0; time < 70; time++) {
      const answer = await server.get('/iam/me', { authorization: 'Bearer garbage', ...from(at(1)) })
      expect(answer.status).toBe(401)
    }
    expect((await guess(ann.name, at(1), ann.password)).status).toBe(200)
  })

  test('too many at once are told to come again, and the server goes on', async () => {
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, index) => guess(ann.name, at(index + 1), ann.password)),
    )
    const statuses = new Set(answers.map(({ status }) => status))
    expect([...statuses].sort()).toEqual([200, 503])
    for (const answer of answers.filter(({ status }) => status === 503)) {
      expect(answer.headers.has('retry-after')).toBe(true)
    }
    expect((await guess(ann.name, at(1), ann.password)).status).toBe(200)
  })

  test('one address that asks for more than there is room for puts nobody out but itself', async () => {
    const guesses = Array.from({ length: 60 }, (_, index) => guess(`nobody-${index}`, at(1)))
    const others = [2, 3, 4, 5].map((number) => guess(ann.name, at(number), ann.password))
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(new Set((await Promise.all(guesses)).map(({ status }) => status))).toEqual(new Set([401, 503]))
  })
})
