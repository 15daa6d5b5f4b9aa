import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { grant, newName, Person, root, startWithIdentity } from '#test/blackbox/people'
import { StartedServer } from '#test/blackbox/started-server'
import { administerAt } from '#test/cli/admin-here'
import { adminProgram, cleanEnvironment, done, environmentOf, failed, runAdmin } from '#test/cli/admin-run'

/** What is kept aside, and brought back, while the server goes on. Contract 8. */

const rootThere = { ADMIN_NAME: root.name, ADMIN_PASSWORD: root.password }
const image = Buffer.alloc(300_000, createHash('sha256').update('image').digest())

async function upload(person: Person, path: string, body: Uint8Array): Promise<void> {
  const url = `${person.server.base}/updates/projects/${path}`
  const answer = await fetch(url, {
    method: 'PUT',
    headers: person.headers,
    body: body as NonNullable<RequestInit['body']>,
  })
  expect([answer.status, await answer.text()]).toEqual([201, expect.any(String)])
}

interface Found {
  readonly tenants: readonly { readonly tenant: string; readonly actors: Record<string, { readonly count: number }> }[]
}

describe('a backup', () => {
  let home: string
  let server: StartedServer
  let admin: Person

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'backup-'))
    server = await startWithIdentity()
    admin = await Person.signIn(server)
    await admin.post('/devices', { deviceIdentifier: 'KEPT-1' })
  })
  afterAll(async () => {
    await server?.finish()
    rmSync(home, { recursive: true, force: true })
  })

  const as = (who: Record<string, string>, args: readonly string[]) =>
    administerAt({ ...environmentOf(server), ...who }, args)
  /** Another server's folder, and no port that anybody listens on. */
  const into = (folder: string) => ({ HOST: '127.0.0.1', PORT: '0', DATA_DIR: folder, STORAGE_HEADROOM_MB: '0' })
  const note = (device: string, text: string) => admin.patch(`/meta/${device}`, { text })

  test('of a running server, brought back, is what was there; later positions are not taken for known', {
    timeout: 240_000,
  }, async () => {
    const ann = await admin.bring(newName('ann'), ['viewer'])
    await upload(admin, 'kept/releases/1.0.0', image)
    const dashboard = await EventClient.open(server, { offset: 'now' }, admin)
    for (let at = 0; at < 20; at++) await note('KEPT-1', `before ${at}`)
    const known = await dashboard.ping()

    // While somebody writes.
    let isOver = false
    const writing = (async () => {
      for (let at = 0; !isOver; at++) expect((await note('KEPT-1', `meanwhile ${at}`)).status).toBe(200)
    })()
    const file = join(home, 'first.backup')
    const { code, out, notes } = await as(rootThere, ['backup', file])
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
    expect(done(await administerAt(into(folder), ['restore', file]))).toBe('')
    const restored = await StartedServer.start({ IAM: 'on', RATE_LIMITS: 'off' }, folder)
    try {
      // Whoever was signed in is, by the key that came along; who was disabled since is not any more.
      const again = { get: (path: string) => restored.get(path, admin.headers) }
      expect((await again.get('/iam/me')).status).toBe(200)
      expect((await Person.signIn(restored, ann)).name).toBe(ann.name)
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
      // Also when the same offsets were given to something else.
      const person = await Person.signIn(restored)
      while ((await here.ping()).offset < beyond.offset + 5)
        await person.patch('/meta/KEPT-1', { text: `${Math.random()}` })
      expect(await resumed()).toBe(false)
      await here.close()
    } finally {
      await restored.finish()
    }
  })

  test('goes through a pipe, and comes back through one', async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [adminProgram, 'backup', '-'], {
      cwd: tmpdir(),
      env: { ...cleanEnvironment(), ...environmentOf(server), ...rootThere },
      encoding: 'buffer',
      maxBuffer: 64 * 1024 * 1024,
    })
    expect(String(stderr)).toMatch(/^\d+ rows and \d+ files, \d+ bytes\n$/)
    expect(String(stderr)).toContain(` ${stdout.length} bytes`)
    const folder = join(home, 'piped')
    expect(done(await runAdmin({ args: ['restore', '-'], environment: into(folder), input: stdout }))).toBe('')
    expect(readdirSync(folder)).toContain('db')
  })

  test('overwrites nothing', async () => {
    const file = join(home, 'twice.backup')
    expect(done(await as(rootThere, ['backup', file]))).toBe('')
    const bytes = readFileSync(file)
    expect(failed(await as(rootThere, ['backup', file]), 1)).toContain('already exists')
    expect(Buffer.compare(readFileSync(file), bytes)).toBe(0)
    expect(failed(await as(rootThere, ['backup', join(home, 'nowhere', 'a')]), 1)).toContain('ENOENT')
  })

  test('is looked into, as is the folder that it came from', async () => {
    const file = join(home, 'looked.backup')
    done(await as(rootThere, ['backup', file]))
    const said = done(await administerAt({}, ['inspect', file]))
    expect(said).toMatch(/^TENANT +DEVICES +OTHERS/m)
    expect(said).toMatch(/^TENANT.*\n(.*\n)?default +[12] +/m)
    const ofBackup = JSON.parse(done(await administerAt({}, ['inspect', file, '--json'])))
    const ofFolder = JSON.parse(done(await as({}, ['inspect', '--json'])))
    expect([ofBackup.hasIdentityKey, ofFolder.hasIdentityKey]).toEqual([true, true])
    expect(ofFolder.epochs).toEqual(ofBackup.epochs)
    expect(ofFolder.rows).toBeGreaterThan(10)
    const devicesIn = (found: Found) => found.tenants.find(({ tenant }) => tenant === 'default')?.actors.device?.count
    expect(devicesIn(ofFolder)).toBeGreaterThan(0)
    expect(devicesIn(ofFolder)).toBe(devicesIn(ofBackup))
    expect((await server.get('/health')).status).toBe(200)
  })

  test('of which the end is missing is refused, and leaves nothing', async () => {
    const file = join(home, 'cut.backup')
    done(await as(rootThere, ['backup', file]))
    truncateSync(file, statSync(file).size - 10)
    const folder = join(home, 'cut')
    for (const args of [
      ['restore', file],
      ['inspect', file],
    ]) {
      expect(failed(await administerAt(into(folder), args), 1)).toContain('cut off at byte')
    }
    expect(existsSync(folder)).toBe(false)
  })

  test('is not brought back over a server, nor over data', async () => {
    const file = join(home, 'over.backup')
    done(await as(rootThere, ['backup', file]))
    const before = readdirSync(server.dataFolder).sort()
    expect(failed(await as({}, ['restore', file]), 1)).toMatch(/a server answers at .*stop it first/)
    const hidden = { ...environmentOf(server), PORT: '0' }
    expect(failed(await administerAt(hidden, ['restore', file]), 1)).toContain('is not empty')
    expect(readdirSync(server.dataFolder).sort()).toEqual(before)
    expect(failed(await as({}, ['restore', file, '--url', server.base]), 2)).toContain('--url')
  })

  test('is for nobody who may not do everything', async () => {
    const role = newName('nearly')
    const most = Object.fromEntries(
      [
        'service',
        'device',
        'schemas',
        'meta',
        'alarms',
        'notifications',
        'functions',
        'updates',
        'users',
        'roles',
        'tenants',
        'health',
      ].map((resource) => [resource, ['*']]),
    )
    await admin.putRole(role, grant(most))
    const nearly = await admin.bringIn(newName('nearly'), [role])
    const viewer = await admin.bringIn(newName('viewer'), ['viewer'])
    const tenantIdentifier = newName('other')
    await admin.post('/iam/tenants', { tenantIdentifier, name: 'Other' })
    const other = await admin.bringIn(newName('olaf'), ['admin'], {}, `?tenant=${tenantIdentifier}`)
    for (const person of [nearly, viewer, other]) {
      expect([person.name, (await person.get('/backup')).status, (await person.get('/backup')).text]).toEqual([
        person.name,
        403,
        '',
      ])
    }
    expect((await server.get('/backup')).status).toBe(401)
    const who = { ADMIN_NAME: nearly.name, ADMIN_PASSWORD: nearly.password }
    const file = join(home, 'stolen.backup')
    expect(failed(await as(who, ['backup', file]), 1)).toContain('403 the caller has no permission')
    expect(existsSync(file)).toBe(false)
    const key = done(await as(rootThere, ['key', 'add', 'api', newName('key'), '--role', 'admin'])).trim()
    expect(done(await as({ ADMIN_API_KEY: key }, ['backup', file]))).toBe('')
  })

  test('of a folder whose server is stopped', async () => {
    const stopped = await startWithIdentity()
    const person = await Person.signIn(stopped)
    await person.post('/devices', { deviceIdentifier: 'STOPPED-1' })
    expect(await stopped.stop()).toBe(0)
    const file = join(home, 'stopped.backup')
    const { code, notes } = await administerAt(environmentOf(stopped), ['backup', file])
    expect([code, notes]).toEqual([0, expect.stringContaining(`backing up the data folder ${stopped.dataFolder}`)])
    const found = JSON.parse(done(await administerAt({}, ['inspect', file, '--json'])))
    expect(found.tenants[0]).toMatchObject({ tenant: 'default', actors: { device: { count: 1 } } })
    await stopped.startAgain()
    // Its port is another one now: what was looked for in vain has the folder.
    const missed = { ...environmentOf(stopped), PORT: '0' }
    expect(failed(await administerAt(missed, ['backup', join(home, 'missed')]), 1)).toMatch(
      /another process uses this folder[\s\S]*--url/,
    )
    await stopped.finish()
  })

  test('where nobody signs in leaves the machine only straight', async () => {
    const open = await StartedServer.start({ IAM: 'off' })
    const file = join(home, 'open.backup')
    expect(done(await administerAt(environmentOf(open), ['backup', file]))).toBe('')
    expect((await open.get('/backup')).status).toBe(200)
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via']) {
      expect([name, (await open.get('/backup', { [name]: '127.0.0.1' })).status]).toEqual([name, 403])
    }
    await open.finish()
  })
})
