import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { newName, root, SignedInUser, startWithIdentity } from '#test/blackbox/signed-in-user'
import { StartedServer } from '#test/blackbox/started-server'
import {
  adminProgram,
  cleanEnvironment,
  environmentOf,
  environmentOn,
  errorOf,
  outputOf,
  runAdmin,
} from '#test/cli/admin-process'
import { administerAt } from '#test/cli/administer-at'
import { folderOfSuite } from '#test/temporary-folder'

/** Backup, restore and inspect. Contract 8. */

const rootUser = { ADMIN_NAME: root.name, ADMIN_PASSWORD: root.password }
const image = Buffer.alloc(300_000, createHash('sha256').update('image').digest())

async function upload(person: SignedInUser, path: string, body: Uint8Array): Promise<void> {
  const url = `${person.server.base}/updates/projects/${path}`
  const answer = await fetch(url, {
    method: 'PUT',
    headers: person.headers,
    body: body as NonNullable<RequestInit['body']>,
  })
  expect([answer.status, await answer.text()]).toEqual([201, expect.any(String)])
}

interface Inspection {
  readonly tenants: readonly { readonly tenant: string; readonly actors: Record<string, { readonly count: number }> }[]
}

describe('a backup', () => {
  const home = folderOfSuite()
  let server: StartedServer
  let admin: SignedInUser

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await SignedInUser.signIn(server)
    await admin.post('/devices', { deviceIdentifier: 'KEPT-1' })
  })
  afterAll(() => server?.finish())

  const runAs = (user: Record<string, string>, args: readonly string[]) =>
    administerAt({ ...environmentOf(server), ...user }, args)
  const note = (device: string, text: string) => admin.patch(`/meta/${device}`, { text })

  test('of a running server restores its state, and later positions are unknown', {
    timeout: 240_000,
  }, async () => {
    const ann = await admin.bring(newName('ann'), ['viewer'])
    await upload(admin, 'kept/releases/1.0.0', image)
    const dashboard = await EventClient.open(server, { offset: 'now' }, admin)
    for (let at = 0; at < 20; at++) await note('KEPT-1', `before ${at}`)
    const known = await dashboard.ping()

    // A client writes during the backup.
    let isOver = false
    const writing = (async () => {
      for (let at = 0; !isOver; at++) expect((await note('KEPT-1', `meanwhile ${at}`)).status).toBe(200)
    })()
    const file = join(home, 'first.backup')
    const { code, out, notes } = await runAs(rootUser, ['backup', file])
    isOver = true
    await writing
    expect([code, out, notes]).toEqual([0, '', expect.stringMatching(/contains \d+ rows and 2 files/)])
    expect([statSync(file).mode & 0o777, readdirSync(home)]).toEqual([0o600, ['first.backup']])
    expect(server.run.lines.map(({ msg }) => msg)).toContain('the backup was sent completely')

    for (let at = 0; at < 5; at++) await note('KEPT-1', `behind ${at}`)
    await admin.post('/devices', { deviceIdentifier: 'LOST-1' })
    expect((await admin.patch(`/iam/users/${ann.name}`, { state: 'disabled' })).status).toBe(200)
    const beyond = await dashboard.ping()
    await dashboard.close()

    const folder = join(home, 'restored')
    expect(outputOf(await administerAt(environmentOn(folder), ['restore', file]))).toBe('')
    const restored = await StartedServer.start({ IAM: 'on', RATE_LIMITS: 'off' }, folder)
    try {
      // The key file is restored too, so tokens are valid. A user who was disabled after the backup is enabled again.
      const again = { get: (path: string) => restored.get(path, admin.headers) }
      expect((await again.get('/iam/me')).status).toBe(200)
      expect((await SignedInUser.signIn(restored, ann)).name).toBe(ann.name)
      expect((await again.get('/devices')).json).toEqual([{ deviceIdentifier: 'KEPT-1' }])
      const { meta } = (await again.get('/meta/KEPT-1')).json as { meta: { text: string } }
      expect(meta.text).toMatch(/^(before 19|meanwhile \d+)$/)
      const stored = join(folder, 'images', createHash('sha256').update(image).digest('hex'))
      expect(Buffer.compare(readFileSync(stored), image)).toBe(0)

      const here = await EventClient.open(restored, { ...known }, again)
      expect(await here.stream()).toMatchObject({ recovered: true })
      const { epoch, offset } = await here.ping()
      expect([epoch === known.epoch, offset >= known.offset, offset < beyond.offset]).toEqual([false, true, true])
      const resumed = async () => {
        const late = await EventClient.open(restored, { ...beyond }, again)
        const { recovered } = await late.stream()
        await late.close()
        return recovered
      }
      expect(await resumed()).toBe(false)
      // This holds even after the restored server has used the same offsets.
      const person = await SignedInUser.signIn(restored)
      while ((await here.ping()).offset < beyond.offset + 5)
        await person.patch('/meta/KEPT-1', { text: `${Math.random()}` })
      expect(await resumed()).toBe(false)
      await here.close()
    } finally {
      await restored.finish()
    }
  })

  test('can be written to and read from a pipe', async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [adminProgram, 'backup', '-'], {
      cwd: tmpdir(),
      env: { ...cleanEnvironment(), ...environmentOf(server), ...rootUser },
      encoding: 'buffer',
      maxBuffer: 64 * 1024 * 1024,
    })
    expect(String(stderr)).toMatch(/^\d+ rows and \d+ files, \d+ bytes\n$/)
    expect(String(stderr)).toContain(` ${stdout.length} bytes`)
    const folder = join(home, 'piped')
    expect(
      outputOf(await runAdmin({ args: ['restore', '-'], environment: environmentOn(folder), input: stdout })),
    ).toBe('')
    expect(readdirSync(folder)).toContain('db')
  })

  test('overwrites no file', async () => {
    const file = join(home, 'twice.backup')
    expect(outputOf(await runAs(rootUser, ['backup', file]))).toBe('')
    const bytes = readFileSync(file)
    expect(errorOf(await runAs(rootUser, ['backup', file]), 1)).toContain('already exists')
    expect(Buffer.compare(readFileSync(file), bytes)).toBe(0)
    expect(errorOf(await runAs(rootUser, ['backup', join(home, 'nowhere', 'a')]), 1)).toContain('ENOENT')
  })

  test('can be inspected, as the data folder can', async () => {
    const file = join(home, 'inspected.backup')
    outputOf(await runAs(rootUser, ['backup', file]))
    const table = outputOf(await administerAt({}, ['inspect', file]))
    expect(table).toMatch(/^TENANT +DEVICES +OTHERS/m)
    expect(table).toMatch(/^TENANT.*\n(.*\n)?default +[12] +/m)
    const ofBackup = JSON.parse(outputOf(await administerAt({}, ['inspect', file, '--json'])))
    const ofFolder = JSON.parse(outputOf(await runAs({}, ['inspect', '--json'])))
    expect([ofBackup.hasIdentityKey, ofFolder.hasIdentityKey]).toEqual([true, true])
    expect(ofFolder.epochs).toEqual(ofBackup.epochs)
    expect(ofFolder.rows).toBeGreaterThan(10)
    const devicesIn = (found: Inspection) =>
      found.tenants.find(({ tenant }) => tenant === 'default')?.actors.device?.count
    expect(devicesIn(ofFolder)).toBeGreaterThan(0)
    expect(devicesIn(ofFolder)).toBe(devicesIn(ofBackup))
    expect((await server.get('/health')).status).toBe(200)
  })

  test('is not restored over a running server or over data', async () => {
    const file = join(home, 'over.backup')
    outputOf(await runAs(rootUser, ['backup', file]))
    const before = readdirSync(server.dataFolder).sort()
    expect(errorOf(await runAs({}, ['restore', file]), 1)).toMatch(/a server answers at .*stop it first/)
    const hidden = { ...environmentOf(server), PORT: '0' }
    expect(errorOf(await administerAt(hidden, ['restore', file]), 1)).toContain('is not empty')
    expect(readdirSync(server.dataFolder).sort()).toEqual(before)
    expect(errorOf(await runAs({}, ['restore', file, '--url', server.base]), 2)).toContain('--url')
  })

  test('that is refused leaves no file, and an API key of an administrator can create one', async () => {
    const viewer = await admin.bring(newName('viewer'), ['viewer'])
    const file = join(home, 'stolen.backup')
    const refused = await runAs({ ADMIN_NAME: viewer.name, ADMIN_PASSWORD: viewer.password }, ['backup', file])
    expect(errorOf(refused, 1)).toContain('403 the caller has no permission')
    expect(existsSync(file)).toBe(false)
    const key = outputOf(await runAs(rootUser, ['key', 'add', 'api', newName('key'), '--role', 'admin'])).trim()
    expect(outputOf(await runAs({ ADMIN_API_KEY: key }, ['backup', file]))).toBe('')
  })

  test('can be made of a stopped server', async () => {
    const stopped = await startWithIdentity()
    const person = await SignedInUser.signIn(stopped)
    await person.post('/devices', { deviceIdentifier: 'STOPPED-1' })
    expect(await stopped.stop()).toBe(0)
    const file = join(home, 'stopped.backup')
    const { code, notes } = await administerAt(environmentOf(stopped), ['backup', file])
    expect([code, notes]).toEqual([0, expect.stringContaining(`backing up the data folder ${stopped.dataFolder}`)])
    const found = JSON.parse(outputOf(await administerAt({}, ['inspect', file, '--json'])))
    expect(found.tenants[0]).toMatchObject({ tenant: 'default', actors: { device: { count: 1 } } })
    await stopped.startAgain()
    // The command does not find the server, which has another port now, but the folder is in use.
    const missed = { ...environmentOf(stopped), PORT: '0' }
    expect(errorOf(await administerAt(missed, ['backup', join(home, 'missed')]), 1)).toMatch(
      /another process uses this folder[\s\S]*--url/,
    )
    await stopped.finish()
  })

  test('without IAM is not sent through a proxy', async () => {
    const open = await StartedServer.start({ IAM: 'off' })
    const file = join(home, 'open.backup')
    expect(outputOf(await administerAt(environmentOf(open), ['backup', file]))).toBe('')
    expect((await open.get('/backup')).status).toBe(200)
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via']) {
      expect([name, (await open.get('/backup', { [name]: '127.0.0.1' })).status]).toEqual([name, 403])
    }
    await open.finish()
  })
})
