import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeServerFile } from '#store/server-file'
import { climate } from '#test/blackbox/sensor'
import { grant, newName, report, root, SignedInUser, signUp, startWithIdentity } from '#test/blackbox/signed-in-user'
import { StartedServer } from '#test/blackbox/started-server'
import { type AdminResult, environmentOf, errorOf, outputOf, runAdmin } from '#test/cli/admin-process'
import { administerAt } from '#test/cli/administer-at'
import { runAllCommands } from '#test/cli/all-commands'
import { type Answer, RecordingServer } from '#test/http/recording-server'
import { folderOfTest } from '#test/temporary-folder'

/** If a server runs, commands use its API. */
describe('with a running server', () => {
  let server: StartedServer
  let admin: SignedInUser
  const started: StartedServer[] = []
  const others: RecordingServer[] = []

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await SignedInUser.signIn(server)
  })
  afterAll(async () => {
    for (const other of others) await other.close()
    for (const more of started) await more.finish()
    await server?.finish()
  })

  const rootUser = { ADMIN_NAME: root.name, ADMIN_PASSWORD: root.password }
  const runAs = (user: Record<string, string>, args: readonly string[], input?: string): Promise<AdminResult> =>
    administerAt({ ...environmentOf(server), ...user }, args, input)
  const asRoot = (...args: readonly string[]) => runAs(rootUser, args)
  const sessionsOf = async (name: string) => (await admin.get(`/iam/users/${name}/sessions`)).json as unknown[]

  test('the commands of administration work', () => runAllCommands((args, input) => runAs(rootUser, args, input)))

  test('the printed codes of a new user and of a lost password are valid', async () => {
    const name = newName('coded')
    for (const args of [
      ['user', 'add', name, '--role', 'viewer'],
      ['user', 'invite', name],
    ]) {
      const { code, out, notes } = await asRoot(...args)
      expect([code, notes]).toEqual([0, expect.stringContaining(name)])
      // Standard output has only the code, so that it can be piped.
      expect(notes).not.toContain(out.trim())
      await signUp(server, { name, password: `password ${args[1]}` }, out.trim())
    }
    expect((await SignedInUser.signIn(server, { name, password: 'password invite' })).tokens.token).not.toBe('')
  })

  test('sessions can be listed, and ended one by one or all', async () => {
    const one = await admin.bringIn(newName('listed'), ['viewer'])
    const two = await SignedInUser.signIn(server, one)
    const listed = outputOf(await asRoot('session', 'list', one.name))
    expect(listed.split('\n')).toHaveLength(4)
    expect(listed).toMatch(/\n\w+ +basic +\S+ +\S+ +127\.0\.0\.1 /)
    const { sid } = one.claims
    expect(outputOf(await asRoot('session', 'end', one.name, String(sid)))).toBe('')
    expect([await one.isIn(), await two.isIn()]).toEqual([false, true])
    expect(outputOf(await asRoot('session', 'end', one.name))).toBe('')
    expect(await two.isIn()).toBe(false)
  })

  test('the session of a command ends with the command, also after a refusal', async () => {
    const before = await sessionsOf(root.name)
    outputOf(await asRoot('user', 'list'))
    errorOf(await asRoot('user', 'delete', 'unknown-user'), 1)
    expect(await sessionsOf(root.name)).toEqual(before)
  })

  test('a user can end all own sessions', async () => {
    const role = newName('ender')
    await admin.putRole(role, grant({ users: ['update'] }))
    const own = await admin.bring(newName('self'), [role])
    expect(
      outputOf(await runAs({ ADMIN_NAME: own.name, ADMIN_PASSWORD: own.password }, ['session', 'end', own.name])),
    ).toBe('')
    expect(await sessionsOf(own.name)).toEqual([])
  })

  test('a new API key can be used', async () => {
    const name = newName('key')
    const key = outputOf(await asRoot('key', 'add', 'api', name, '--role', 'admin')).trim()
    expect(outputOf(await runAs({ ADMIN_API_KEY: key }, ['key', 'list', 'api']))).toContain(name)
    // A user in the arguments overrides the API key.
    expect(errorOf(await runAs({ ADMIN_API_KEY: key }, ['key', 'list', '--user', root.name]), 2)).toContain(
      'ADMIN_PASSWORD',
    )
    expect(errorOf(await runAs({ ADMIN_API_KEY: `${key}x` }, ['key', 'list']), 1)).toContain('401 invalid API key')
  })

  test.each<[string, readonly string[], readonly string[]]>([
    ['an unknown role', ['user', 'add', 'zoe', '--role', 'viewer', '--role', 'none'], ['400 Valid', 'roles.1:']],
    ['the last administrator', ['user', 'disable', root.name], ['409 the user is the last administrator']],
    ['an unknown user', ['user', 'invite', 'unknown-user'], ['404 ']],
    ['an invalid tenant', ['user', 'list', '--tenant', 'No Tenant'], ['400 Valid', 'tenant:']],
    ['a wrong password', ['user', 'list', '--user', 'unknown-user'], ['401 invalid credentials', 'Unknown name']],
  ])('%s is refused with the reason', async (_, args, texts) => {
    const notes = errorOf(await asRoot(...args), 1)
    for (const text of texts) expect(notes).toContain(text)
  })

  test('callers who may update but not read get the name of the changed resource', async () => {
    const role = newName('changer')
    await admin.putRole(role, grant({ users: ['update'], tenants: ['update'] }))
    const { name, password } = await admin.bring(newName('blind'), [role])
    const user = { ADMIN_NAME: name, ADMIN_PASSWORD: password }
    const changed = async (...args: readonly string[]) => JSON.parse(outputOf(await runAs(user, [...args, '--json'])))
    const { name: other } = await admin.bring(newName('other'), [])
    expect(await changed('user', 'set', other, '--no-email')).toEqual({
      name: other,
      resourceIdentifier: expect.stringMatching(/^crn#user:/),
    })
    expect(await changed('tenant', 'set', 'default', '--basic')).toEqual({
      tenantIdentifier: 'default',
      resourceIdentifier: 'crn#tenant:default',
    })
  })

  test('a name that would change the path is refused', async () => {
    for (const name of ['', '.', '..'])
      expect(errorOf(await asRoot('user', 'delete', name), 2)).toContain('is not a valid name')
  })

  test.each([
    ['Basic is disabled', { basic: false }, 'use the DPoP scheme'],
    ['a second factor is required', { twoFactor: 'required' }, '2fa_required'],
  ])('if %s in the tenant, the error names other ways', async (_, policy, reason) => {
    const tenantIdentifier = newName('strict')
    expect((await admin.post('/iam/tenants', { tenantIdentifier, name: 'Strict', ...policy })).status).toBe(201)
    const { name, password } = await admin.bring(newName('two'), ['admin'], {}, `?tenant=${tenantIdentifier}`)
    const notes = errorOf(await runAs({ ADMIN_NAME: name, ADMIN_PASSWORD: password }, ['user', 'list']), 1)
    for (const text of [`401 ${reason}`, 'ADMIN_API_KEY', 'stop the server']) expect(notes).toContain(text)
  })

  test('without password and terminal, the error names the setting', async () => {
    const run = { args: ['user', 'list'], environment: { ...environmentOf(server), ADMIN_NAME: root.name } }
    for (const more of [{}, { input: root.password }]) {
      const notes = errorOf(await runAdmin({ ...run, ...more }), 2)
      expect(notes).toMatch(/no terminal.*ADMIN_PASSWORD/)
    }
  })

  test('the history is exported, imported and compacted, and its state is shown', async () => {
    const other = await startWithIdentity({ HISTORY: 'on' })
    started.push(other)
    const run = (...args: readonly string[]) =>
      administerAt({ ...environmentOf(other), ...rootUser }, ['history', ...args])
    const deviceIdentifier = newName('EXPORTED').toUpperCase()
    const owner = await SignedInUser.signIn(other)
    await report(other, await owner.makeDevice(deviceIdentifier), 20.5)
    const asked = ['export', '--device', deviceIdentifier, '--service', climate]
    const rows = outputOf(await run(...asked))
      .trimEnd()
      .split('\n')
    expect(rows).toEqual([
      'deviceIdentifier,serviceIdentifier,propId,name,time,value',
      expect.stringMatching(new RegExp(`^${deviceIdentifier},${climate},\\d+,,\\d{4}-.*Z,20\\.5$`)),
    ])
    expect(errorOf(await run(...asked, '--interval', '10'), 1)).toContain('interval')
    const file = join(other.dataFolder, 'rows.csv')
    const times = [Date.now() - 2_000, Date.now() - 1_000]
    const lines = [...times.map((time) => `${deviceIdentifier},${climate},${time},8192,1.5`), 'GONE,x,1,1,1']
    writeFileSync(file, ['deviceIdentifier,serviceIdentifier,time,propId,value', ...lines].join('\n'))
    expect(outputOf(await run('import', file))).toBe(
      '3 rows: 2 stored, 0 too old, 1 of unknown properties, 0 invalid\nline 4: names an unknown property\n',
    )
    expect(outputOf(await run(...asked)).match(/,1\.5\n/g)).toHaveLength(2)
    expect((await run('compact')).notes).toContain('compacts')
    expect(outputOf(await run('status'))).toMatch(/^\d+ events behind, \d+ ms\n$/)
    expect(outputOf(await asRoot('history', 'status'))).toBe('history is off\n')
  })

  test('--url works with and without the base path', async () => {
    const origin = `http://127.0.0.1:${server.port}`
    for (const url of [origin, `${origin}/`, `${origin}/api/v1`, `http://localhost:${server.port}`]) {
      // A setting that is not needed may have an error.
      const ran = await administerAt({ ...rootUser, PORT: 'none' }, ['user', 'list', '--url', url])
      expect(outputOf(ran)).toContain('\nroot ')
    }
  })

  test('credentials are not sent if --url leads to another server', async () => {
    const [closed, other] = [await startOtherServer(404), await startOtherServer(404)]
    await closed.close()
    expect(errorOf(await asRoot('user', 'list', '--url', closed.url), 1)).toContain(`nothing answers at ${closed.url}`)
    expect(errorOf(await asRoot('user', 'list', '--url', other.url), 1)).toContain(
      'is not a healthy server of this kind: 404',
    )
    const moved = await startOtherServer(301)
    expect(errorOf(await asRoot('user', 'list', '--url', moved.url), 1)).toContain('http://elsewhere.example/')
    expect([other.received.length, moved.received.length, credentialsAt(other, moved)]).toEqual([1, 1, []])
    for (const url of ['nonsense', 'ftp://127.0.0.1', 'http://a:b@127.0.0.1', 'http://127.0.0.1/?a=b']) {
      expect(errorOf(await asRoot('user', 'list', '--url', url), 2)).toContain('--url')
    }
  })

  test('credentials are not sent to another program on the port of a stopped server', async () => {
    const key = outputOf(await asRoot('key', 'add', 'api', newName('nightly'), '--role', 'admin')).trim()
    const impostor = await startImpostor()
    const here = { ...environmentOf(server), PORT: String(impostor.port) }
    const folder = folderOfTest()
    const missing = { ...here, DATA_DIR: folder }
    // The killed server left its file, but the impostor does not know the key.
    const left = { ...here, DATA_DIR: join(folder, 'left') }
    mkdirSync(left.DATA_DIR)
    await writeServerFile(left.DATA_DIR, { host: '127.0.0.1', port: impostor.port, key: 'k'.repeat(43) })
    const list = ['user', 'list']
    const backUp = ['backup', join(folder, 'x.backup')]
    const tries = [
      [here, { ADMIN_API_KEY: key }, backUp, `listens at 127.0.0.1:${server.port}`],
      [missing, rootUser, list, 'has no running server'],
      [left, { ADMIN_API_KEY: key }, list, 'did not prove'],
      [left, rootUser, backUp, 'did not prove'],
    ] as const
    await Promise.all(
      tries.map(async ([environment, user, args, reason]) => {
        const notes = errorOf(await administerAt({ ...environment, ...user }, args), 1)
        expect(notes).toContain(reason)
        expect(notes).toContain('--url')
      }),
    )
    expect(credentialsAt(impostor)).toEqual([])
    expect(readdirSync(folder)).toEqual(['left'])
  })

  test('a data folder in use is not opened, also if its server is not found', async () => {
    const closed = await startOtherServer(404)
    await closed.close()
    for (const port of [String(closed.port), '0']) {
      const notes = errorOf(await runAs({ ...rootUser, PORT: port }, ['user', 'list']), 1)
      expect(notes).toContain('another process uses this folder')
      expect(notes).toContain('--url')
    }
  })

  test('IAM=off is reported without asking for a password', async () => {
    const open = await StartedServer.start({ IAM: 'off' })
    started.push(open)
    expect(errorOf(await administerAt(environmentOf(open), ['user', 'list']), 1)).toContain('IAM is off')
  })

  /** A server that answers as the product does. */
  async function startImpostor() {
    return startOther((response) =>
      response.writeHead(200, { 'Server-Proof': 'k'.repeat(43), Connection: 'close' }).end('{"status":"ok"}'),
    )
  }

  /** A server of another product. */
  async function startOtherServer(status: number) {
    return startOther((response) =>
      response.writeHead(status, { Location: 'http://elsewhere.example/', Connection: 'close' }).end('<html>'),
    )
  }

  async function startOther(answer: Answer): Promise<RecordingServer> {
    const other = await RecordingServer.open(answer)
    others.push(other)
    return other
  }

  /** The credentials that these servers received. */
  function credentialsAt(...servers: readonly RecordingServer[]): unknown[] {
    const headers = servers.flatMap(({ received }) => received.map((request) => request.headers))
    return headers.flatMap(({ authorization, 'x-api-key': key }) => [authorization ?? [], key ?? []].flat())
  }
})
