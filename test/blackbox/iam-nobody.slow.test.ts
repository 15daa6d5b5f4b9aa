import { generateProof } from 'dpop'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DpopClient } from '#test/blackbox/dpop-client'
import { basicHeader, Person, startWithIdentity, told } from '#test/blackbox/people'
import type { Answer, StartedServer } from '#test/blackbox/started-server'

/** What is asked from one address about one person, who may be nobody. */
interface Asking {
  readonly name: string
  readonly email: string
  readonly address: string
  readonly host?: string
}

type Ask = (of: Asking) => Promise<Answer>

const host = 'acme.example'
const elsewhere = 'elsewhere.example'
const wrong = 'wrong horse battery'
const times = 10

/** Whether somebody is here must not show, however often and in whatever way it is asked. Contract 2, Login. */
describe('of somebody and of nobody all is the same, when it is guessed ten times', () => {
  let server: StartedServer
  let client: DpopClient
  let people = 0

  beforeAll(async () => {
    server = await startWithIdentity({ RATE_LIMITS: 'on', TRUST_PROXY: '1' })
    const root = await Person.signIn(server)
    const acme = { tenantIdentifier: 'acme', name: 'Acme', hosts: [host] }
    expect((await root.post('/iam/tenants', acme)).status).toBe(201)
    for (let number = 0; number < cases.length; number++) {
      const { name, email } = person('somebody', number)
      await root.bring(name, ['viewer'], { email }, '?tenant=acme')
    }
    client = await DpopClient.make(server)
    await client.logIn({ name: 'nobody', password: wrong })
  })
  afterAll(async () => {
    try {
      expect(await server.stop()).toBe(0)
    } finally {
      await server.discard()
    }
  })

  const person = (who: string, number: number): Asking => ({
    name: `${who}${number}`,
    email: `${who}${number}@acme.example`,
    address: `192.0.2.${++people}`,
  })
  const from = (of: Asking) => ({ 'x-forwarded-for': of.address, 'x-forwarded-host': of.host ?? host })
  const logIn = async (of: Asking, email: string, more: object = {}) => {
    const { keys, nonce } = client
    const dpop = await generateProof(keys, `http://${of.host ?? host}/api/v1/auth/login`, 'POST', nonce)
    const body = { email, password: wrong, ...more }
    return server.ask('/auth/login', { method: 'POST', body, headers: { ...from(of), dpop } })
  }
  const basic: Ask = (of) =>
    server.get('/iam/token', { ...basicHeader({ name: of.name, password: wrong }), ...from(of) })
  const signUp: Ask = (of) =>
    server.ask('/iam/signup', {
      method: 'POST',
      body: { name: of.name, code: 'x'.repeat(22), password: wrong },
      headers: from(of),
    })
  const byEmail: Ask = (of) => logIn(of, of.email)
  const byName: Ask = (of) => logIn(of, of.name)
  const refused = [401, { error: 'invalid credentials' }]
  const held = [429, { error: 'too many attempts' }]

  const cases: readonly (readonly [string, Ask, Ask, readonly unknown[]])[] = [
    ['by his address', byEmail, byEmail, held],
    ['in a tenant that there is not', (of) => logIn(of, of.email, { tenantIdentifier: 'nosuch' }), byEmail, held],
    ['in a tenant where he is not', (of) => logIn(of, of.email, { tenantIdentifier: 'default' }), byEmail, held],
    ['and then in a tenant', byEmail, (of) => logIn(of, of.email, { tenantIdentifier: 'acme' }), held],
    ['under another host', (of) => byEmail({ ...of, host: elsewhere }), byEmail, held],
    ['in letters of full width', (of) => logIn(of, wide(of.email)), byEmail, held],
    ['by his name, and then by his address', byName, byEmail, refused],
    ['by the Basic scheme, and then by his address', basic, byEmail, refused],
    ['by the Basic scheme, and then by his name', basic, byName, held],
    ['by the Basic scheme under another host', (of) => basic({ ...of, host: elsewhere }), basic, held],
    ['by his address, and then by the Basic scheme', byEmail, basic, refused],
    ['by codes, and then by his address', signUp, byEmail, refused],
    ['by his address, and then by a code', byEmail, signUp, [401, { error: 'invalid or expired code' }]],
    ['by his name, and then by a code', byName, signUp, held],
  ]

  test.each(cases.map(([title, ...rest], number) => [title, number, ...rest] as const))(
    '%s',
    async (_, number, ...asked) => {
      const [guess, ask, last] = asked
      for (const who of ['somebody', 'nobody']) {
        const of = person(who, number)
        const answers: unknown[] = []
        for (let time = 0; time < times; time++) answers.push((await guess(of)).status)
        expect(answers, who).toEqual(Array(times).fill(401))
        const answer = await ask(of)
        expect(told(answer), who).toEqual(last)
        expect(answer.headers.get('retry-after'), who).toEqual(last === held ? expect.any(String) : null)
      }
    },
  )
})

/** Letters that only look otherwise: NFKC makes them the same. */
function wide(text: string): string {
  return text.replace(/[a-z]/g, (letter) => String.fromCodePoint(letter.charCodeAt(0) - 0x61 + 0xff41))
}
