import { mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Person, readToken, root } from '#test/blackbox/people'
import { type Environment, ServerRun, StartedServer } from '#test/blackbox/started-server'

/** What a first start prints, and the file that it makes. test/access shows who becomes administrator. Contract 2. */

let folder: string
const started: StartedServer[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'blackbox-'))
})
afterEach(async () => {
  for (const server of started.splice(0)) await server.discard()
  rmSync(folder, { recursive: true, force: true })
})

const start = async (environment: Environment = {}) => {
  const server = await StartedServer.start({ IAM: 'on', ...environment }, folder)
  started.push(server)
  return server
}
/** 20 Base58 characters, standing alone. */
const printed = ({ run }: StartedServer) =>
  [...run.errors.matchAll(/(?<!\w)[1-9A-HJ-NP-Za-km-z]{20}(?!\w)/g)].map(([text]) => text)

test('the password of the first administrator is printed once, on standard error and nowhere else', async () => {
  const server = await start()
  const [password = '', ...more] = printed(server)
  expect([password.length, more]).toEqual([20, []])
  expect(server.run.errors).toContain('admin')
  expect(server.run.output.split(password)).toHaveLength(2)
  await server.stop()
  const again = await start()
  expect(printed(again)).toEqual([])
  expect((await readToken(again, { name: 'admin', password })).status).toBe(200)
})

test('a password of the environment is printed nowhere; the key file stays the same, is never replaced, and is for its owner', async () => {
  const environment = { ADMIN_NAME: root.name, ADMIN_PASSWORD: root.password }
  const server = await start(environment)
  expect([printed(server), server.run.output.includes(root.password)]).toEqual([[], false])
  const file = join(folder, 'identity.key')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const { headers } = await Person.signIn(server)
  await server.stop()
  renameSync(file, `${file}.away`)
  const without = new ServerRun({ IAM: 'on', ...environment, DATA_DIR: folder })
  expect(await without.ended).toBe(1)
  expect(without.output).toContain('identity.key')
  expect(() => statSync(file)).toThrow()
  renameSync(`${file}.away`, file)
  expect((await (await start()).get('/iam/me', headers)).status).toBe(200)
})
