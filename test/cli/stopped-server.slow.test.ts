import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { freePort } from '#bench/server-process'
import { startPrivateServer } from '#cli/server-lookup'
import { configOf } from '#test/app/valid-config'
import { root, SignedInUser, signUp, startWithIdentity } from '#test/blackbox/signed-in-user'
import { StartedServer } from '#test/blackbox/started-server'
import { environmentOf, environmentOn, errorOf, outputOf, runAdmin } from '#test/cli/admin-process'
import { administerAt } from '#test/cli/administer-at'
import { folderOfTest } from '#test/temporary-folder'

/** If no server runs, commands start one on the data folder. */
describe('with a stopped server', () => {
  let folder: string
  let port: number
  const started: StartedServer[] = []

  beforeEach(async () => {
    folder = folderOfTest()
    port = await freePort()
  })
  afterEach(async () => {
    for (const server of started.splice(0)) await server.discard()
  })

  const environment = () => ({ ...environmentOn(folder, port), LOG_LEVEL: 'info' })
  const run = (args: readonly string[], input?: string) => administerAt(environment(), args, input)
  const start = async (more: Record<string, string> = {}) => {
    const server = await StartedServer.start({ IAM: 'on', ...more }, folder)
    started.push(server)
    return server
  }

  test('the answer is in standard output, and the folder in standard error', async () => {
    const { code, out, notes } = await runAdmin({ args: ['user', 'list', '--json'], environment: environment() })
    expect([code, out]).toEqual([0, '[]\n'])
    expect(notes).toContain(`nothing answers at http://127.0.0.1:${port}/api/v1: working on the data folder ${folder}`)
  })

  test('commands ignore ADMIN_NAME, and can create another administrator before the first start', async () => {
    const settings = { ...environment(), ADMIN_NAME: root.name, ADMIN_PASSWORD: root.password }
    const listed = await administerAt(settings, ['user', 'list', '--json'])
    expect(JSON.parse(outputOf(listed))).toEqual([])
    const code = outputOf(await run(['user', 'add', 'first', '--role', 'admin'])).trim()
    const server = await start()
    expect(server.run.errors).not.toContain('administrator')
    const first = { name: 'first', password: 'correct horse battery' }
    await signUp(server, first, code)
    expect(await (await SignedInUser.signIn(server, first)).me()).toMatchObject({ roles: ['admin'] })
  })

  test('sessions stay valid after a rotation of the signing key', async () => {
    const server = await startWithIdentity()
    started.push(server)
    const admin = await SignedInUser.signIn(server)
    await server.stop()
    const later = 'const now = Date.now; Date.now = () => now() + 120_000'
    const args = ['key', 'rotate-signing']
    const there = environmentOf(server)
    expect(errorOf(await administerAt(there, args), 1)).toContain('409 the last rotation is younger than a minute')
    const kid = outputOf(await runAdmin({ args, environment: there, before: later })).trim()
    const listed = outputOf(await administerAt(there, ['key', 'list', 'signing']))
    expect(listed).toMatch(new RegExp(`\\n${kid} +\\S+ +-\\n`))
    await server.startAgain()
    expect(await admin.isIn()).toBe(true)
    await server.finish()
  })

  test('the server stops after a refusal too', async () => {
    expect(errorOf(await run(['role', 'delete', 'viewer']), 1)).toContain('409 ')
    expect(errorOf(await run(['user', 'add', 'zoe', '--role', 'none']), 1)).toContain('roles.0:')
    expect((await start()).run.isEnded).toBe(false)
  })

  test('invalid settings are reported by name', async () => {
    const settings = { ...environment(), DURABILITY: 'maybe' }
    expect(errorOf(await administerAt(settings, ['user', 'list']), 2)).toContain('DURABILITY: got "maybe"')
  })

  test('an error when the folder is opened is reported without a stack', async () => {
    outputOf(await run(['user', 'list']))
    rmSync(join(folder, 'identity.key'))
    const notes = errorOf(await run(['user', 'list']), 1)
    expect(notes).toContain('identity.key')
    expect(notes).not.toMatch(/\n +at /)
  })

  test('the token of a command is invalid after the command', async () => {
    const config = configOf(environment())
    const fetched = vi.spyOn(globalThis, 'fetch')
    const connection = await startPrivateServer({ config, offlineReason: '' }, new PassThrough())
    await connection.client.call('GET /iam/users')
    const [url, init] = fetched.mock.calls.at(-1) ?? []
    fetched.mockRestore()
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
