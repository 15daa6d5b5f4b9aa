import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Credentials, Person, root, startWithIdentity } from '#test/blackbox/people'
import type { StartedServer } from '#test/blackbox/started-server'
import { type KeyPair, makeKeyPair } from '#test/iam/key-pair'
import { draftOf, proofOf } from '#test/iam/proof-draft'
import { rightProofs } from '#test/iam/right-proofs'
import type { Ground, ProofRequestText, Refusal } from '#test/iam/wrong-proof'
import { wrongProofs } from '#test/iam/wrong-proofs'

/** Everything that can be wrong with a proof, over HTTP: the same table as for the checks alone. Contract 2, DPoP. */
describe('proofs over HTTP', () => {
  let server: StartedServer
  let admin: Person
  let strict: Credentials
  let ground: Ground
  /** With keys of its own, so that what both give the same name is no use of the other's. */
  let rightGround: Ground
  let nonce = ''

  interface Heard {
    readonly status: number
    readonly text: string
    readonly headers: Readonly<Record<string, string | undefined>>
  }

  /** By `node:http`: it sends a header as often as it is told to, and as it is. */
  const send = (method: string, path: string, headers: ProofRequestText['headers'], body?: object): Promise<Heard> =>
    new Promise((resolve, reject) => {
      const text = body && JSON.stringify(body)
      const lines = [
        ...headers,
        ...(text
          ? ([
              ['content-type', 'application/json'],
              ['content-length', `${text.length}`],
            ] as const)
          : []),
      ]
      const raw = lines.flat()
      const request = httpRequest(
        {
          host: '127.0.0.1',
          port: server.port,
          method,
          path,
          headers: ['host', `127.0.0.1:${server.port}`, ...raw] as never,
        },
        (response) => {
          let said = ''
          response.setEncoding('utf8').on('data', (piece: string) => {
            said += piece
          })
          response.on('end', () => {
            const heard = response.headers as Record<string, string | undefined>
            nonce = heard['dpop-nonce'] ?? nonce
            resolve({ status: response.statusCode ?? 0, text: said, headers: heard })
          })
        },
      )
      request.on('error', reject)
      request.end(text)
    })

  const around = () => ({
    origin: `http://127.0.0.1:${server.port}`,
    nowS: () => Math.floor(Date.now() / 1000),
    nonce: () => nonce,
  })

  const prove = async (key: KeyPair, path: string, body: object) => {
    const maker = { ...around(), method: 'POST', path: `/api/v1${path}` }
    const answer = await send('POST', maker.path, [['dpop', proofOf(draftOf(maker, key))]], body)
    return { status: answer.status, json: answer.text === '' ? undefined : JSON.parse(answer.text) }
  }

  /** Two new keys, with all tokens around them. */
  const makeGround = async (): Promise<Ground> => {
    const [key, otherKey] = [makeKeyPair(), makeKeyPair()]
    const maker = {
      method: 'GET',
      path: '/api/v1/iam/me',
      ...around(),
      key,
      otherKey,
      nonces: {},
    }
    // The first answer to a proof without a nonce tells one.
    await prove(key, '/auth/login', { email: root.name, password: root.password })
    const logIn = async (of: KeyPair, email = root.name, password = root.password) => {
      const { status, json } = await prove(of, '/auth/login', { email, password })
      expect(status).toBe(200)
      return json as { accessToken: string; refreshToken: string; token: string }
    }
    const ended = await logIn(key)
    await prove(key, '/auth/logout', { refreshToken: ended.refreshToken })
    const bound = await logIn(key)
    return {
      ...maker,
      tokens: {
        bound: bound.accessToken,
        unbound: admin.tokens.token,
        otherBound: (await logIn(otherKey)).accessToken,
        ended: ended.accessToken,
        refresh: bound.refreshToken,
        secondFactor: (await logIn(key, strict.name, strict.password)).token,
      },
    }
  }

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await Person.signIn(server)
    await admin.post('/iam/tenants', { tenantIdentifier: 'strict', name: 'Strict', twoFactor: 'required' })
    strict = await admin.bring('strict', ['viewer'], {}, '?tenant=strict')
    ground = await makeGround()
    rightGround = await makeGround()
  })
  afterAll(() => server?.finish())

  const answerTo = ({ headers, query }: ProofRequestText) =>
    send('GET', `${ground.path}${query === undefined ? '' : `?${query}`}`, headers)

  const refusalIn = ({ status, text, headers }: Heard): Refusal => ({
    status,
    error: JSON.parse(text).error,
    ...(headers['www-authenticate'] !== undefined && { challenge: headers['www-authenticate'] }),
    ...(headers['dpop-nonce'] !== undefined && { hasNonce: true }),
    ...(headers['retry-after'] !== undefined && { hasRetryAfter: true }),
  })

  test.each(wrongProofs.map((row) => [row.number, row.name, row] as const))('%i: %s', async (_, name, row) => {
    const requests = row.requests(ground)
    // What only a clock that can be moved, or the server's own key, can make is for the checks alone.
    if (!requests) {
      expect(name).toMatch(
        /eleven minutes|earlier start|past its time|time of the token|type of ours|unknown key|another server|be remembered/,
      )
      return
    }
    for (const good of requests.slice(0, -1)) expect((await answerTo(good)).status).toBe(200)
    const last = requests.at(-1)
    expect(last && refusalIn(await answerTo(last))).toEqual(row.refusal)
  })

  test.each(rightProofs.map((row) => [row.name, row] as const))('right: %s', async (_, row) => {
    for (const request of row.requests(rightGround)) {
      const { status, text } = await answerTo(request)
      expect([status, JSON.parse(text).name]).toEqual([200, 'root'])
    }
  })

  test('a nonce of an earlier start is worth nothing', async () => {
    const before = nonce
    await server.stop()
    await server.startAgain()
    const { tokens, key } = ground
    const maker = { ...ground, origin: `http://127.0.0.1:${server.port}`, nonce: () => before }
    const headers = [
      ['authorization', `DPoP ${tokens.bound}`],
      ['dpop', proofOf(draftOf(maker, key, tokens.bound))],
    ] as const
    const refused = await send('GET', ground.path, headers)
    expect(refusalIn(refused)).toEqual({
      status: 400,
      error: 'use_dpop_nonce',
      challenge: 'DPoP error="use_dpop_nonce", algs="ES256"',
      hasNonce: true,
    })
    const again = { ...maker, nonce: () => nonce }
    const proof = proofOf(draftOf(again, key, tokens.bound))
    expect(
      (
        await send('GET', ground.path, [
          ['authorization', `DPoP ${tokens.bound}`],
          ['dpop', proof],
        ])
      ).status,
    ).toBe(200)
  })
})
