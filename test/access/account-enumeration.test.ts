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
const from = (target: Target) => ({ ...origin, host: target.host ?? host })
const logIn = (fixture: IdentityFixture, target: Target, email: string, more: object = {}) =>
  fixture.refusal(
    fixture.identity.logins.logIn({ ...fixture.loginOf(email, key), password, origin: from(target), ...more }),
  )
const byEmail: Ask = (fixture, target) => logIn(fixture, target, target.email)
const byName: Ask = (fixture, target) => logIn(fixture, target, target.name)
const basic: Ask = (fixture, target) =>
  fixture.refusal(fixture.identity.logins.basicToken(fixture.basicOf(target.name, false, password, from(target))))
const signUp: Ask = (fixture, target) =>
  fixture.refusal(fixture.identity.logins.signUp({ name: target.name, code: 'x', password, origin: from(target) }))
const under =
  (other: string, ask: Ask): Ask =>
  (fixture, target) =>
    ask(fixture, { ...target, host: other })
const within =
  (tenantIdentifier: string): Ask =>
  (fixture, target) =>
    logIn(fixture, target, target.email, { tenantIdentifier })
/** Signs in by the address in letters of full width, which are equal under NFKC. */
const wide: Ask = (fixture, target) => {
  const text = target.email.replace(/[a-z]/g, (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0))
  return logIn(fixture, target, text)
}

const refused = 'unauthorized invalid credentials'
const badCode = 'unauthorized invalid or expired code'
const held = 'too_many_requests too many attempts'

// No route may show whether a user with a name or address exists. Contract 2, Login.
test.each<[string, Ask, Ask, string]>([
  ['by the address', byEmail, byEmail, held],
  ['in a tenant that does not exist', within('nosuch'), byEmail, held],
  ['in a tenant of others', within('default'), byEmail, held],
  ['by the address, and then in the tenant', byEmail, within('acme'), held],
  ['under another host', under(elsewhere, byEmail), byEmail, held],
  ['in letters of full width', wide, byEmail, held],
  ['by the name, and then by the address', byName, byEmail, refused],
  ['by the Basic scheme, and then by the address', basic, byEmail, refused],
  ['by the Basic scheme, and then by the name', basic, byName, held],
  ['by the Basic scheme under another host', under(elsewhere, basic), basic, held],
  ['by the address, and then by the Basic scheme', byEmail, basic, refused],
  ['by codes, and then by the address', signUp, byEmail, refused],
  ['by the address, and then by a code', byEmail, signUp, badCode],
  ['by the name, and then by a code', byName, signUp, held],
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
