import { afterAll, describe, expect, test } from 'vitest'
import { everything } from '#model/scope'
import { DpopCaller } from '#test/api/dpop-caller'
import { RawClient } from '#test/http/raw-client'
import { AccessFixture } from '#test/routes/access-fixture'

/** Requests that no regular client sends, so the test writes them by hand. */

const fixture = await AccessFixture.open()
afterAll(() => fixture.close())
await fixture.restore(everything.grants)

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
const root = basic('root:correct horse battery')
const more = { error: 'more than one credential' }
const needed = { error: 'authentication required' }

/** The status and the error. */
async function ask(line: string, headers: readonly string[]): Promise<[number, unknown]> {
  const client = new RawClient(fixture.http.port)
  client.send(`${[line, `Host: 127.0.0.1:${fixture.http.port}`, 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`)
  const { text } = await client.until(({ text, isClosed }) => isClosed || isWhole(text))
  client.socket.destroy()
  const body = text.slice(text.indexOf('\r\n\r\n') + 4)
  return [client.statuses[0] ?? 0, body.startsWith('{') ? JSON.parse(body) : undefined]
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n') + 4
  const length = /^content-length: *(\d+)/im.exec(text)?.[1]
  return end > 3 && length !== undefined && text.length >= end + Number(length)
}

describe('several Authorization headers', () => {
  const me = 'GET /api/v1/iam/me HTTP/1.1'
  const token = 'GET /api/v1/iam/token HTTP/1.1'
  const link = 'POST /api/v1/link HTTP/1.1'

  test.each<[string, string, () => readonly string[], number, unknown]>([
    ['the same one twice', me, () => [fixture.authorizationOf('eve'), fixture.authorizationOf('eve')], 401, more],
    ['two users', me, () => [fixture.authorizationOf('eve'), fixture.authorizationOf('olaf')], 401, more],
    ['a valid one after an empty one', me, () => ['', fixture.authorizationOf('eve')], 401, more],
    ['a valid one before an empty one', me, () => [fixture.authorizationOf('eve'), ''], 401, more],
    ['two schemes', me, () => [fixture.authorizationOf('eve'), root], 401, more],
    ['two schemes in the other order', me, () => [root, fixture.authorizationOf('eve')], 401, more],
    ['two empty ones', me, () => ['', ''], 401, more],
    ['two passwords', token, () => [root, root], 401, { error: 'invalid credentials' }],
    ['two secrets', link, () => [root, root], 401, more],
  ])('%s are refused, and none of them is used', async (_, line, lines, status, body) => {
    const headers = lines().map((value) => `Authorization: ${value}`)
    expect(await ask(line, line === link ? [...headers, 'Content-Length: 0'] : headers)).toEqual([status, body])
  })

  test('a single one is accepted', async () => {
    expect((await ask(me, [`Authorization: ${fixture.authorizationOf('eve')}`]))[0]).toBe(200)
    expect((await ask(token, [`Authorization: ${root}`]))[0]).toBe(200)
    expect(await ask(me, [])).toEqual([401, needed])
  })
})

test.each([
  ['the same one twice', (proof: string) => [proof, proof]],
  ['a valid one after an empty one', (proof: string) => ['', proof]],
])('several DPoP headers are refused: %s', async (_, proofs) => {
  const client = new DpopCaller(fixture)
  const { accessToken } = await client.logIn('eve')
  const { dpop = '', authorization } = await client.headers('GET', '/iam/me', accessToken)
  const send = (lines: readonly string[]) =>
    ask('GET /api/v1/iam/me HTTP/1.1', [`Authorization: ${authorization}`, ...lines.map((line) => `DPoP: ${line}`)])
  expect(await send(proofs(dpop))).toEqual([401, { error: 'invalid proof' }])
  expect((await send([dpop]))[0]).toBe(200)
})

test.each([
  ['a token of 3 KB', () => `Bearer ${'a'.repeat(3_000)}`],
  ['only spaces after the scheme', () => `Bearer ${' '.repeat(3_000)}x y`],
  ['dots', () => `DPoP ${'.'.repeat(3_000)}`],
  ['a token of 1 MB', () => `Bearer ${'a'.repeat(1_000_000)}`],
])('a very large Authorization header of %s is refused, and the next request is answered', async (_, value) => {
  const [status] = await ask('GET /api/v1/iam/me HTTP/1.1', [`Authorization: ${value()}`])
  // A header that is too long for the server gets 431, or the connection closes without a status (0).
  expect([0, 401, 431]).toContain(status)
  expect((await ask('GET /api/v1/iam/me HTTP/1.1', [`Authorization: ${fixture.authorizationOf('eve')}`]))[0]).toBe(200)
})
