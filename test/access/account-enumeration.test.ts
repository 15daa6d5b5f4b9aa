import { expect, test } from 'vitest'
import { IdentityFixture, origin } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'

interface Target {
  readonly name: string
  readonly email: string
  readonly host?: string
}
type Ask = (fixture: IdentityFixture, target: Target) => Promise<string | undefined>

const key = makeKeyPair()
const [host, elsewhere, password] = ['acme.example', 'elsewhere.example', 'wrong horse battery']
const originOf = (target: Target) => ({ ...origin, host: target.host ?? host })
const logIn = (fixture: IdentityFixture, target: Target, email: string, more: object = {}) =>
  fixture.refusal(
    fixture.identity.logins.logIn({ ...fixture.loginOf(email, key), password, origin: originOf(target), ...more }),
  )
const byEmail: Ask = (fixture, target) => logIn(fixture, target, target.email)
const byName: Ask = (fixture, target) => logIn(fixture, target, target.name)
const byBasic: Ask = (fixture, target) =>
  fixture.refusal(fixture.identity.logins.basicToken(fixture.basicOf(target.name, false, password, originOf(target))))
const signUp: Ask = (fixture, target) =>
  fixture.refusal(fixture.identity.logins.signUp({ name: target.name, code: 'x', password, origin: originOf(target) }))
const atHost =
  (other: string, ask: Ask): Ask =>
  (fixture, target) =>
    ask(fixture, { ...target, host: other })
const inTenant =
  (tenantIdentifier: string): Ask =>
  (fixture, target) =>
    logIn(fixture, target, target.email, { tenantIdentifier })
/** Signs in by the address in full-width letters, which NFKC maps to the same address. */
const byWideEmail: Ask = (fixture, target) => {
  const text = target.email.replace(/[a-z]/g, (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0))
  return logIn(fixture, target, text)
}

const refused = 'unauthorized invalid credentials'
const badCode = 'unauthorized invalid or expired code'
const delayed = 'too_many_requests too many attempts'

// No route may show whether a user with this name or address exists. Contract 2, Login.
test.each<[string, Ask, Ask, string]>([
  ['by the address', byEmail, byEmail, delayed],
  ['in a tenant that does not exist', inTenant('nosuch'), byEmail, delayed],
  ['in a tenant of others', inTenant('default'), byEmail, delayed],
  ['by the address, and then in the tenant', byEmail, inTenant('acme'), delayed],
  ['under another host', atHost(elsewhere, byEmail), byEmail, delayed],
  ['in letters of full width', byWideEmail, byEmail, delayed],
  ['by the name, and then by the address', byName, byEmail, refused],
  ['by the Basic scheme, and then by the address', byBasic, byEmail, refused],
  ['by the Basic scheme, and then by the name', byBasic, byName, delayed],
  ['by the Basic scheme under another host', atHost(elsewhere, byBasic), byBasic, delayed],
  ['by the address, and then by the Basic scheme', byEmail, byBasic, refused],
  ['by codes, and then by the address', signUp, byEmail, refused],
  ['by the address, and then by a code', byEmail, signUp, badCode],
  ['by the name, and then by a code', byName, signUp, delayed],
])('ten guesses get the same answers whether the user exists or not: %s', async (_, guess, ask, last) => {
  const fixture = await IdentityFixture.open()
  await fixture.addTenant('acme', { hosts: [host] })
  await fixture.addUser('ann', { tenant: 'acme', email: 'ann@acme.example' })
  const answersFor = async (name: string) => {
    const target = { name, email: `${name}@acme.example` }
    const answers: unknown[] = []
    for (let time = 0; time < 10; time++) answers.push(await guess(fixture, target))
    return [...answers, await ask(fixture, target)]
  }
  const wrong = guess === signUp ? badCode : refused
  for (const name of ['ann', 'nobody']) expect(await answersFor(name), name).toEqual([...Array(10).fill(wrong), last])
})
