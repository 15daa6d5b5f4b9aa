import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { realWorld } from '#app/world'
import { mailFinding, natsFindings, updateServerFinding } from '#cli/doctor/doctor'
import { databaseFindings, diskFindings, folderFindings, historyFindings, imageFindings } from '#cli/doctor/folder'
import { portFindings } from '#cli/doctor/port'
import { clockFindings, syncFinding } from '#cli/doctor/timing'
import { configOf } from '#test/app/valid-config'
import { root, SignedInUser, startWithIdentity } from '#test/blackbox/signed-in-user'
import type { StartedServer } from '#test/blackbox/started-server'
import { doctorProgram, environmentOf, errorOf, outputOf, runAdmin } from '#test/cli/admin-process'
import { RecordingServer } from '#test/http/recording-server'
import { RealSmtpServer } from '#test/notifications/real-smtp-server'
import { folderOfTest } from '#test/temporary-folder'

describe('a data folder', () => {
  let home: string
  let folder: string

  beforeEach(() => {
    home = folderOfTest()
    folder = join(home, 'data')
  })

  const findings = async (more: Record<string, string> = {}) => {
    const findings = await folderFindings(configOf({ DATA_DIR: folder, ...more }))
    return findings.map(({ verdict, about, said }) => `${verdict} ${about}: ${said.replaceAll(folder, 'data')}`)
  }
  const key = `${'k'.repeat(43)}\n`

  test('that does not exist yet is fine', async () => {
    expect(await findings()).toEqual(['ok DATA_DIR: data does not exist yet; the first start creates it'])
    expect(existsSync(folder)).toBe(false)
  })

  test('that is a file is wrong', async () => {
    writeFileSync(folder, 'a file')
    expect(await findings()).toEqual([expect.stringMatching(/^wrong DATA_DIR: .*ENOTDIR/)])
  })

  test('of a server is fine', async () => {
    mkdirSync(join(folder, 'db'), { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, 'identity.key'), key, { mode: 0o600 })
    expect(await findings()).toEqual(['ok DATA_DIR: data', 'ok identity.key: readable by its owner only'])
  })

  test('that other users can read is a hint, and a readable key is wrong', async () => {
    mkdirSync(join(folder, 'db'), { recursive: true })
    chmodSync(folder, 0o755)
    writeFileSync(join(folder, 'identity.key'), key)
    chmodSync(join(folder, 'identity.key'), 0o644)
    expect(await findings()).toEqual([
      'hint DATA_DIR: data is accessible to other users of this machine (mode 755)',
      expect.stringMatching(/^wrong identity.key: .*mode 644/),
    ])
  })

  test('with an invalid or missing key is reported', async () => {
    mkdirSync(join(folder, 'db'), { recursive: true, mode: 0o700 })
    expect((await findings())[1]).toMatch(/^hint identity.key: does not exist, although there is a database/)
    expect((await findings({ IAM: 'off' }))[1]).toMatch(/^ok identity.key/)
    writeFileSync(join(folder, 'identity.key'), 'short', { mode: 0o600 })
    expect((await findings())[1]).toMatch(/^wrong identity.key: .*is not a valid key/)
  })

  const node = { NATS_URL: 'nats://127.0.0.1:1', NODE_URL: 'http://127.0.0.1:8080' }

  test('of a node needs the key of the other nodes, and is replaced instead of repaired', async () => {
    mkdirSync(join(folder, 'db'), { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, 'db', 'CURRENT'), 'nothing')
    expect((await findings(node))[1]).toBe('hint identity.key: does not exist')
    const config = configOf({ DATA_DIR: folder, ...node })
    const [damage] = await databaseFindings(config)
    expect(damage).toMatchObject({
      verdict: 'wrong',
      todo: expect.stringContaining('except identity.key, and start it: it gets its data from the cluster'),
    })
  })

  test('has a hint about a damaged history, which the server replaces by a new one', async () => {
    expect(await historyFindings(configOf({ DATA_DIR: folder }))).toEqual([])
    mkdirSync(join(folder, 'history', 'db'), { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, 'history', 'db', 'CURRENT'), 'nothing')
    const [damage] = await historyFindings(configOf({ DATA_DIR: folder }))
    expect(damage).toMatchObject({ verdict: 'hint', about: 'history', todo: expect.stringContaining('sets it aside') })
  })

  test('of an interrupted restore is wrong', async () => {
    mkdirSync(join(folder, 'restoring'), { recursive: true, mode: 0o700 })
    expect((await findings())[0]).toMatch(/^wrong DATA_DIR: .*restore/)
  })

  test('that was repaired has a hint about what to check', async () => {
    mkdirSync(join(folder, 'damaged-2026-11-24'), { recursive: true, mode: 0o700 })
    const [finding] = await folderFindings(configOf({ DATA_DIR: folder }))
    expect(finding).toMatchObject({ verdict: 'hint', said: expect.stringContaining('damaged-2026-11-24') })
    expect(finding?.todo).toMatch(/check users, roles, API keys, sessions/)
  })

  test('with damaged images is wrong', async () => {
    const images = join(folder, 'images')
    mkdirSync(images, { recursive: true })
    const [whole, damaged, gone] = ['whole', 'damaged', 'gone'].map((text) =>
      createHash('sha256').update(text).digest('hex'),
    )
    writeFileSync(join(images, `${whole}`), 'whole')
    writeFileSync(join(images, `${damaged}`), 'damagex')
    mkdirSync(join(images, `${gone}`))
    const config = configOf({ DATA_DIR: folder })
    expect((await imageFindings(config)).map(({ verdict, said }) => `${verdict} ${said}`).sort()).toEqual(
      [`wrong ${damaged} does not match its SHA-256`, expect.stringMatching(`^wrong ${gone} .*EISDIR`)].sort(),
    )
    expect(await imageFindings(configOf({ DATA_DIR: home }))).toEqual([])
  })

  test('needs enough space for the settings', async () => {
    const verdicts = async (more: Record<string, string>) =>
      (await diskFindings(configOf({ DATA_DIR: folder, ...more }))).map(({ verdict }) => verdict)
    expect((await verdicts({ STREAM_RETENTION_MB: '1', STORAGE_HEADROOM_MB: '0' }))[0]).toBe('ok')
    const huge = await diskFindings({ ...configOf({ DATA_DIR: folder }), streamRetentionBytes: 2 ** 52 })
    expect(huge[0]?.verdict).toBe('hint')
    const full = await diskFindings({ ...configOf({ DATA_DIR: folder }), storageHeadroomBytes: 2 ** 52 })
    expect(full[0]?.verdict).toBe('wrong')
  })

  test('is measured with a temporary file', async () => {
    mkdirSync(folder)
    const { verdict, said } = await syncFinding(configOf({ DATA_DIR: folder }), realWorld)
    expect([verdict, said]).toEqual(['ok', expect.stringMatching(/^\d+\.\d ms, worst \d+\.\d ms/)])
    expect(readdirSync(folder)).toEqual([])
    writeFileSync(join(home, 'file'), '')
    expect((await syncFinding(configOf({ DATA_DIR: join(home, 'file') }), realWorld)).verdict).toBe('wrong')
  })

  test('on a slow disk is a hint only with DURABILITY=disk', async () => {
    const steps = { at: 0 }
    const slow = { ...realWorld, monotonic: () => (steps.at += 30) }
    expect((await syncFinding(configOf({ DATA_DIR: folder, DURABILITY: 'disk' }), slow)).verdict).toBe('hint')
    expect((await syncFinding(configOf({ DATA_DIR: folder }), slow)).verdict).toBe('ok')
  })
})

describe('a clock', () => {
  let folder: string
  beforeEach(() => {
    folder = folderOfTest()
  })

  /** A clock that begins at `start` and runs at `rate`. */
  const world = (start: number, rate = 1) => {
    const began = realWorld.monotonic()
    return { ...realWorld, now: () => Math.round(start + (realWorld.monotonic() - began) * rate) }
  }
  const verdicts = async (start: number, rate?: number) =>
    (await clockFindings(configOf({ DATA_DIR: folder }), world(start, rate))).map(({ verdict }) => verdict)
  const good = Date.UTC(2030, 5, 1)

  test('that runs is fine', async () => {
    expect(await verdicts(good)).toEqual(['ok'])
  })

  test.each([0, Date.UTC(2020, 0, 1), Date.UTC(2150, 0, 1)])('at %i is wrong', async (start) => {
    expect(await verdicts(start)).toEqual(['wrong'])
  })

  test('older than the stored files is wrong', async () => {
    mkdirSync(join(folder, 'db'))
    writeFileSync(join(folder, 'db', '000003.log'), '')
    utimesSync(join(folder, 'db', '000003.log'), good / 1000, good / 1000)
    expect(await verdicts(good - 3_600_000)).toEqual(['wrong'])
    expect(await verdicts(good + 1_000)).toEqual(['ok'])
  })

  test.each([10, -10])('that runs %i times too fast is a hint', async (rate) => {
    expect(await verdicts(good, rate)).toEqual(['hint'])
  })
})

describe('other servers', () => {
  const open: { close(done?: () => void): unknown }[] = []
  afterEach(() => {
    for (const server of open.splice(0)) server.close()
  })

  async function listening(server: Server): Promise<string> {
    open.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return String((server.address() as AddressInfo).port)
  }
  async function answering(status: number, body = '{}'): Promise<RecordingServer> {
    const server = await RecordingServer.open((response) =>
      response.writeHead(status, { Connection: 'close' }).end(body),
    )
    open.push(server)
    return server
  }
  const port = async (environment: Record<string, string>) => {
    const [finding] = await portFindings(configOf(environment), undefined)
    return `${finding?.verdict} ${finding?.said}`
  }

  test('a port is free, in use, or on another host', async () => {
    const free = createServer()
    const number = await listening(free)
    await new Promise((resolve) => free.close(resolve))
    expect(await port({ PORT: number })).toBe(`ok 127.0.0.1:${number} is free`)
    expect(await port({ PORT: '0' })).toMatch(/^ok /)
    expect(await port({ PORT: String((await answering(404)).port) })).toMatch(/^wrong another program answers at/)
    const silent = await listening(createServer((socket) => socket.destroy()))
    expect(await port({ PORT: silent })).toMatch(/^wrong /)
    expect(await port({ PORT: number, HOST: '192.0.2.1' })).toMatch(/^wrong /)
  })

  test('the API key is not sent to another program on the port', async () => {
    const impostor = await answering(200, '{"status":"ok"}')
    const config = configOf({ PORT: String(impostor.port), DATA_DIR: join(tmpdir(), 'missing-folder') })
    const [finding, ...more] = await portFindings(config, 'the-key')
    expect([finding?.verdict, finding?.said, more]).toEqual([
      'wrong',
      expect.stringContaining('may be another one'),
      [],
    ])
    expect(new Set(impostor.received.map(({ headers }) => headers['x-api-key']))).toEqual(new Set([undefined]))
  })

  test('a mail server is tested, including the sign-in', async () => {
    const mail = await RealSmtpServer.open()
    open.push(mail)
    const verdict = async (url: string) => (await mailFinding(configOf({ SMTP_URL: url }))).verdict
    expect(await verdict(`smtp://ann:secret@127.0.0.1:${mail.port}`)).toBe('ok')
    expect(mail.signedIn).toEqual([{ user: 'ann', password: 'secret' }])
    expect(mail.received).toEqual([])
    expect((await mailFinding(configOf({}))).verdict).toBe('ok')
  })

  test('a mail server that refuses or is missing is wrong, and the password is not shown', async () => {
    const refusing = await RealSmtpServer.open({
      disabledCommands: ['STARTTLS'],
      onAuth: ({ password }, _, done) => done(new Error(`no such password: ${password}`)),
    })
    open.push(refusing)
    const refused = await mailFinding(configOf({ SMTP_URL: `smtp://ann:hunter2@127.0.0.1:${refusing.port}` }))
    expect(refused.verdict).toBe('wrong')
    expect(JSON.stringify(refused)).not.toContain('hunter2')
    const missing = await mailFinding(configOf({ SMTP_URL: 'smtp://127.0.0.1:1' }))
    expect(missing).toMatchObject({ verdict: 'wrong' })
    expect(JSON.stringify(missing)).toContain('127.0.0.1:1')
  })

  test.each([
    [200, 'ok'],
    [404, 'ok'],
    [401, 'wrong'],
    [403, 'wrong'],
    [503, 'hint'],
  ])('an update server that answers %i gives %s', async (status, verdict) => {
    const { url, received } = await answering(status)
    const finding = await updateServerFinding(configOf({ UPDATE_SERVER_URL: url, UPDATE_SERVER_TOKEN: 'its-token' }))
    expect([finding.verdict, received.map(({ headers }) => headers.authorization)]).toEqual([
      verdict,
      ['Bearer its-token'],
    ])
    expect(finding.said).not.toContain('its-token')
  })

  test('NATS servers that are missing are wrong, and without NATS_URL none is needed', async () => {
    const url = { NATS_URL: 'nats://ann:hunter2@127.0.0.1:1', NODE_URL: 'http://127.0.0.1:8080' }
    const findings = await natsFindings(configOf(url))
    expect(findings).toMatchObject([{ verdict: 'wrong', said: expect.stringMatching(/^NATS can't be reached: /) }])
    expect(JSON.stringify(findings)).not.toContain('hunter2')
    expect(await natsFindings(configOf({}))).toEqual([])
  })

  test('a missing update server is wrong', async () => {
    expect((await updateServerFinding(configOf({ UPDATE_SERVER_URL: 'http://127.0.0.1:1' }))).verdict).toBe('wrong')
    expect((await updateServerFinding(configOf({}))).verdict).toBe('ok')
  })
})

describe('the command', () => {
  let server: StartedServer
  beforeAll(async () => {
    server = await startWithIdentity()
  })
  afterAll(() => server?.finish())

  const doctor = (environment: Record<string, string>, ...args: string[]) =>
    runAdmin({ args, environment, program: doctorProgram })

  test('finds a running server, and shows more with an API key', async () => {
    const admin = await SignedInUser.signIn(server, root)
    const { key } = (await admin.post('/iam/api-keys', { name: 'doctor', roles: ['viewer'] })).json as { key: string }
    const plain = await doctor(environmentOf(server))
    expect(plain.out).toMatch(/^ok {5}server: answers at http:\/\/127\.0\.0\.1:\d+\/api\/v1$/m)
    expect(plain.out).toMatch(/^ok {5}server: for more details, set ADMIN_API_KEY$/m)
    expect(plain.out).toMatch(/^ok {5}identity\.key: readable by its owner only$/m)
    expect(plain.out).not.toMatch(/^WRONG {2}(?!open files|disk)/m)
    const { out } = await doctor({ ...environmentOf(server), ADMIN_API_KEY: key }, '--json')
    expect(JSON.parse(out)).toContainEqual({
      verdict: 'ok',
      about: 'server',
      said: '0 devices, 0 device connections, 0 sockets',
    })
  })

  test('exits with 1 if something is wrong, and names the remedy', async () => {
    const { code, out } = await doctor({ ...environmentOf(server), DURABILITY: 'some', PORT: 'http' })
    expect(code).toBe(1)
    expect(out).toMatch(/^WRONG {2}configuration: PORT: got "http", takes .* → /m)
    expect(out).toMatch(/^WRONG {2}configuration: DURABILITY: /m)
    const iam = await doctor({ ...environmentOf(server), IAM: 'off', HOST: '0.0.0.0', PORT: '0' })
    expect([iam.code, iam.out]).toEqual([1, expect.stringMatching(/^WRONG {2}IAM: is off/m)])
  })

  test('has a help text', async () => {
    expect(outputOf(await doctor({ PORT: 'http' }, '--help'))).toContain('Exit code')
    expect(errorOf(await doctor({}, '--jsno'), 2)).toContain('--jsno is not understood')
  })
})
