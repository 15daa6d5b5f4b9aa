import { renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readToken, root, SignedInUser } from '#test/blackbox/signed-in-user'
import { type Environment, ServerRun, StartedServer } from '#test/blackbox/started-server'
import { folderOfTest } from '#test/temporary-folder'

/** The output and the key file of a first start. `test/access` tests which user becomes administrator. Contract 2. */

let folder: string
const started: StartedServer[] = []

beforeEach(() => {
  folder = folderOfTest()
})
afterEach(async () => {
  for (const server of started.splice(0)) await server.discard()
})

const start = async (environment: Environment = {}) => {
  const server = await StartedServer.start({ IAM: 'on', ...environment }, folder)
  started.push(server)
  return server
}
/** The printed words of 20 Base58 characters. */
const printedPasswords = ({ run }: StartedServer) =>
  [...run.errors.matchAll(/(?<!\w)[1-9A-HJ-NP-Za-km-z]{20}(?!\w)/g)].map(([text]) => text)

test('the generated password of the first administrator is printed once, to standard error', async () => {
  const server = await start()
  const [password = '', ...more] = printedPasswords(server)
  expect([password.length, more]).toEqual([20, []])
  expect(server.run.errors).toContain('admin')
  expect(server.run.output.split(password)).toHaveLength(2)
  await server.stop()
  const again = await start()
  expect(printedPasswords(again)).toEqual([])
  expect((await readToken(again, { name: 'admin', password })).status).toBe(200)
})

test('a password in the settings is not printed, and the key file is private and never replaced', async () => {
  const environment = { ADMIN_NAME: root.name, ADMIN_PASSWORD: root.password }
  const server = await start(environment)
  expect([printedPasswords(server), server.run.output.includes(root.password)]).toEqual([[], false])
  const file = join(folder, 'identity.key')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const { headers } = await SignedInUser.signIn(server)
  await server.stop()
  renameSync(file, `${file}.away`)
  const without = new ServerRun({ IAM: 'on', ...environment, DATA_DIR: folder })
  expect(await without.ended).toBe(1)
  expect(without.output).toContain('identity.key')
  expect(() => statSync(file)).toThrow()
  renameSync(`${file}.away`, file)
  expect((await (await start()).get('/iam/me', headers)).status).toBe(200)
})
