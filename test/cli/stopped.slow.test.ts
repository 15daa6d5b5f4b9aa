import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { readConfig } from '#app/config'
import { startPrivateServer } from '#cli/stopped-server'
import { Person, root, signUp, startWithIdentity } from '#test/blackbox/people'
import { StartedServer } from '#test/blackbox/started-server'
import { administerAt } from '#test/cli/admin-here'
import { done, environmentOf, failed, runAdmin } from '#test/cli/admin-run'
import { everyVerb } from '#test/cli/every-verb'

/** Nobody listens: the work is done on the data folder. */
describe('with a stopped server', () => {
  let folder: string
  let port: number
  const started: StartedServer[] = []

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'admin-'))
    port = await freePort()
  })
  afterEach(async () => {
    for (const server of started.splice(0)) await server.discard()
    rmSync(folder, { recursive: true, force: true })
  })

  const environment = () => ({
    HOST: '127.0.0.1',
    PORT: String(port),
    DATA_DIR: folder,
    STORAGE_HEADROOM_MB: '0',
    LOG_LEVEL: 'info',
  })
  const typed = (args: readonly string[], input?: string) => administerAt(environment(), args, input)
  const start = async (more: Record<string, string> = {}) => {
    const server = await StartedServer.start({ IAM: 'on', ...more }, folder)
    started.push(server)
    return server
  }

  // Each of them starts a server, and stops it. That the process ends behind it is seen below.
  test('every verb does what it says, without signing in', { timeout: 420_000 }, () => everyVerb(typed))

  test('standard output is what was asked for; the rest says which folder it was', async () => {
    const { code, out, notes } = await runAdmin({ args: ['user', 'list', '--json'], environment: environment() })
    expect([code, out]).toEqual([0, '[]\n'])
    expect(notes).toContain(`nothing answers at http://127.0.0.1:${port}/api/v1: working on the data folder ${folder}`)
  })

  test('whoever the settings ask for is left to the server; somebody may be made before its first start', async () => {
    const settings = { ...environment(), ADMIN_NAME: root.name, ADMIN_PASSWORD: root.password }
    const listed = await administerAt(settings, ['user', 'list', '--json'])
    expect(JSON.parse(done(listed))).toEqual([])
    const code = done(await typed(['user', 'add', 'first', '--role', 'admin'])).trim()
    const server = await start()
    expect(server.run.errors).not.toContain('administrator')
    const first = { name: 'first', password: 'correct horse battery' }
    await signUp(server, first, code)
    expect(await (await Person.signIn(server, first)).me()).toMatchObject({ roles: ['admin'] })
  })

  test('a lost password is chosen anew', async () => {
    const server = await startWithIdentity()
    started.push(server)
    await server.stop()
    const again = done(await administerAt(environmentOf(server), ['user', 'invite', root.name]))
    await server.startAgain()
    const found = { name: root.name, password: 'another password' }
    await signUp(server, found, again.trim())
    expect((await Person.signIn(server, found)).name).toBe(root.name)
    await server.finish()
  })

  test('a signing key is rotated, and signs nobody out', async () => {
    const server = await startWithIdentity()
    started.push(server)
    const admin = await Person.signIn(server)
    await server.stop()
    const later = 'const now = Date.now; Date.now = () => now() + 120_000'
    const args = ['key', 'rotate-signing']
    const there = environmentOf(server)
    expect(failed(await administerAt(there, args), 1)).toContain('409 the last rotation is younger than a minute')
    const kid = done(await runAdmin({ args, environment: there, before: later })).trim()
    const listed = done(await administerAt(there, ['key', 'list', 'signing']))
    expect(listed).toMatch(new RegExp(`\\n${kid} +\\S+ +-\\n`))
    await server.startAgain()
    expect(await admin.isIn()).toBe(true)
    await server.finish()
  })

  test('a refusal is one, and stops the server as well', async () => {
    expect(failed(await typed(['role', 'delete', 'viewer']), 1)).toContain('409 ')
    expect(failed(await typed(['user', 'add', 'zoe', '--role', 'none']), 1)).toContain('roles.0:')
    expect((await start()).run.isEnded).toBe(false)
  })

  test('IAM=off is said, and nothing is made', async () => {
    const settings = { ...environment(), IAM: 'off' }
    expect(failed(await administerAt(settings, ['user', 'list']), 1)).toContain('IAM is off')
    expect(readdirSync(folder)).toEqual([])
  })

  test('settings that the server would not take are named', async () => {
    const settings = { ...environment(), DURABILITY: 'maybe' }
    expect(failed(await administerAt(settings, ['user', 'list']), 2)).toContain('DURABILITY: got "maybe"')
  })

  test('what keeps the folder from being opened is said without a stack', async () => {
    done(await typed(['user', 'list']))
    rmSync(join(folder, 'identity.key'))
    const notes = failed(await typed(['user', 'list']), 1)
    expect(notes).toContain('identity.key')
    expect(notes).not.toMatch(/\n +at /)
  })

  test('the token is dead as soon as the work is done', async () => {
    const reading = readConfig(environment())
    if ('mistakes' in reading) throw new Error(reading.mistakes.join())
    const asked = vi.spyOn(globalThis, 'fetch')
    const connection = await startPrivateServer({ config: reading.config, offlineReason: '' }, new PassThrough())
    await connection.client.call('GET /iam/users')
    const [url, init] = asked.mock.calls.at(-1) ?? []
    asked.mockRestore()
    const headers = Object.fromEntries(new Headers(init?.headers))
    expect(headers.authorization).toMatch(/^Bearer [\w-]{43}$/)
    expect((await fetch(String(url), { headers })).status).toBe(200)
    expect((await fetch(String(url))).status).toBe(401)
    await connection.close()
    await expect(fetch(String(url), { headers })).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
    const server = await start()
    expect((await server.get('/iam/users', headers)).status).toBe(401)
  })
})

/** One that nobody listens on, a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}
