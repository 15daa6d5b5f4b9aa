import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeServerFile } from '#store/server-file'
import { grant, newName, Person, root, signUp, startWithIdentity } from '#test/blackbox/people'
import { StartedServer } from '#test/blackbox/started-server'
import { administerAt } from '#test/cli/admin-here'
import { done, environmentOf, failed, type Ran, runAdmin } from '#test/cli/admin-run'
import { everyVerb } from '#test/cli/every-verb'

/** A server answers: everything goes through its API. */
describe('with a running server', () => {
  let server: StartedServer
  let admin: Person
  const started: StartedServer[] = []
  const others: Server[] = []

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await Person.signIn(server)
  })
  afterAll(async () => {
    for (const other of others) other.close()
    for (const more of started) await more.finish()
    await server?.finish()
  })

  const rootThere = { ADMIN_NAME: root.name, ADMIN_PASSWORD: root.password }
  const as = (who: Record<string, string>, args: readonly string[], input?: string): Promise<Ran> =>
    administerAt({ ...environmentOf(server), ...who }, args, input)
  const asRoot = (...args: readonly string[]) => as(rootThere, args)
  const sessionsOf = async (name: string) => (await admin.get(`/iam/users/${name}/sessions`)).json as unknown[]

  test('every verb does what it says', { timeout: 420_000 }, () =>
    everyVerb((args, input) => as(rootThere, args, input)),
  )

  test('a code signs up, and a code for a lost password signs up again', async () => {
    const name = newName('coded')
    for (const args of [
      ['user', 'add', name, '--role', 'viewer'],
      ['user', 'invite', name],
    ]) {
      const { code, out, notes } = await asRoot(...args)
      expect([code, notes]).toEqual([0, expect.stringContaining(name)])
      // Told apart from the sentence around it: it can be piped.
      expect(notes).not.toContain(out.trim())
      await signUp(server, { name, password: `password ${args[1]}` }, out.trim())
    }
    expect((await Person.signIn(server, { name, password: 'password invite' })).tokens.token).not.toBe('')
  })

  test('sessions are shown, and ended one by one or all', async () => {
    const one = await admin.bringIn(newName('seen'), ['viewer'])
    const two = await Person.signIn(server, one)
    const listed = done(await asRoot('session', 'list', one.name))
    expect(listed.split('\n')).toHaveLength(4)
    expect(listed).toMatch(/\n\w+ +basic +\S+ +\S+ +127\.0\.0\.1 /)
    const { sid } = one.claims
    expect(done(await asRoot('session', 'end', one.name, String(sid)))).toBe('')
    expect([await one.isIn(), await two.isIn()]).toEqual([false, true])
    expect(done(await asRoot('session', 'end', one.name))).toBe('')
    expect(await two.isIn()).toBe(false)
  })

  test('the session of the command itself ends with it, also where it was refused', async () => {
    const before = await sessionsOf(root.name)
    done(await asRoot('user', 'list'))
    failed(await asRoot('user', 'delete', 'nobody-has-this-name'), 1)
    expect(await sessionsOf(root.name)).toEqual(before)
  })

  test('who ends his own sessions has done so', async () => {
    const role = newName('ender')
    await admin.putRole(role, grant({ users: ['update'] }))
    const own = await admin.bring(newName('self'), [role])
    expect(done(await as({ ADMIN_NAME: own.name, ADMIN_PASSWORD: own.password }, ['session', 'end', own.name]))).toBe(
      '',
    )
    expect(await sessionsOf(own.name)).toEqual([])
  })

  test('a key made here signs in here', async () => {
    const name = newName('key')
    const key = done(await asRoot('key', 'add', 'api', name, '--role', 'admin')).trim()
    expect(done(await as({ ADMIN_API_KEY: key }, ['key', 'list', 'api']))).toContain(name)
    // Whoever says who he is, means himself.
    expect(failed(await as({ ADMIN_API_KEY: key }, ['key', 'list', '--user', root.name]), 2)).toContain(
      'ADMIN_PASSWORD',
    )
    expect(failed(await as({ ADMIN_API_KEY: `${key}x` }, ['key', 'list']), 1)).toContain('401 invalid API key')
  })

  test.each<[string, readonly string[], readonly string[]]>([
    [
      'a role that is not there',
      ['user', 'add', 'zoe', '--role', 'viewer', '--role', 'none'],
      ['400 Valid', 'roles.1:'],
    ],
    ['a name that is taken', ['user', 'add', 'ROOT'], ['409 the name is taken']],
    ['a role that is built in', ['role', 'delete', 'viewer'], ['409 ']],
    ['the last administrator', ['user', 'disable', root.name], ['409 the last administrator']],
    ['somebody who is not there', ['user', 'invite', 'nobody-has-this-name'], ['404 ']],
    ['a tenant that is not there', ['user', 'list', '--tenant', 'none'], ['404 ']],
    ['a tenant that can be none', ['user', 'list', '--tenant', 'No Tenant'], ['400 Valid', 'tenant:']],
    ['a key that is not there', ['key', 'delete', '3Nc7xJr4Vq'], ['404 ']],
    ['a code that is good for a second', ['user', 'add', 'zoe', '--expires', '1'], ['400 Valid', 'expiresIn:']],
    [
      'a wrong password',
      ['user', 'list', '--user', 'nobody-has-this-name'],
      ['401 invalid credentials', 'Unknown name'],
    ],
  ])('%s is refused, and said', async (_, args, wanted) => {
    const said = failed(await asRoot(...args), 1)
    for (const text of wanted) expect(said).toContain(text)
  })

  test('a second rotation at once is refused, and said', async () => {
    // The first may be refused as well: others have rotated before.
    await asRoot('key', 'rotate-signing')
    expect(failed(await asRoot('key', 'rotate-signing'), 1)).toContain('409 the last rotation is younger than a minute')
  })

  test('what is beyond the rights of who asks is refused', async () => {
    const plain = await admin.bring(newName('plain'), ['viewer'])
    const who = { ADMIN_NAME: plain.name, ADMIN_PASSWORD: plain.password }
    expect(failed(await as(who, ['user', 'list']), 1)).toContain('403 the caller has no permission')
    expect(failed(await as(who, ['key', 'delete', '3Nc7xJr4Vq']), 1)).toContain('403 the caller has no permission')
    expect(failed(await as(who, ['role', 'list', '--tenant', 'default']), 1)).toContain(
      '403 the caller has no permission',
    )
  })

  test('callers who may change and not read get the name of what they changed', async () => {
    const role = newName('changer')
    await admin.putRole(role, grant({ users: ['update'], tenants: ['update'] }))
    const { name, password } = await admin.bring(newName('blind'), [role])
    const who = { ADMIN_NAME: name, ADMIN_PASSWORD: password }
    const changed = async (...args: readonly string[]) => JSON.parse(done(await as(who, [...args, '--json'])))
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

  test('a name that would lead to another path is not understood', async () => {
    for (const name of ['', '.', '..'])
      expect(failed(await asRoot('user', 'delete', name), 2)).toContain('is not a valid name')
  })

  test.each([
    ['takes no password alone', { basic: false }, 'use the DPoP scheme'],
    ['wants a second factor', { twoFactor: 'required' }, '2fa_required'],
  ])('whose tenant %s is told the way round', async (_, policy, said) => {
    const tenantIdentifier = newName('strict')
    expect((await admin.post('/iam/tenants', { tenantIdentifier, name: 'Strict', ...policy })).status).toBe(201)
    const { name, password } = await admin.bring(newName('two'), ['admin'], {}, `?tenant=${tenantIdentifier}`)
    const notes = failed(await as({ ADMIN_NAME: name, ADMIN_PASSWORD: password }, ['user', 'list']), 1)
    for (const text of [`401 ${said}`, 'ADMIN_API_KEY', 'stop the server']) expect(notes).toContain(text)
  })

  test('without a password and without a terminal it says what to set', async () => {
    const run = { args: ['user', 'list'], environment: { ...environmentOf(server), ADMIN_NAME: root.name } }
    for (const more of [{}, { input: root.password }]) {
      const notes = failed(await runAdmin({ ...run, ...more }), 2)
      expect(notes).toMatch(/no terminal.*ADMIN_PASSWORD/)
    }
  })

  test('--url leads there, with the base path and without', async () => {
    const origin = `http://127.0.0.1:${server.port}`
    for (const url of [origin, `${origin}/`, `${origin}/api/v1`, `http://localhost:${server.port}`]) {
      // A mistake in what is not needed stops nothing.
      const ran = await administerAt({ ...rootThere, PORT: 'none' }, ['user', 'list', '--url', url])
      expect(done(ran)).toContain('\nroot ')
    }
  })

  test('--url never leads elsewhere', async () => {
    const [nobodys, strangers] = [await foreign(404), await foreign(404)]
    nobodys.server.close()
    expect(failed(await asRoot('user', 'list', '--url', nobodys.url), 1)).toContain(`nothing answers at ${nobodys.url}`)
    expect(failed(await asRoot('user', 'list', '--url', strangers.url), 1)).toContain(
      'is not a healthy server of this kind: 404',
    )
    const moved = await foreign(301)
    expect(failed(await asRoot('user', 'list', '--url', moved.url), 1)).toContain('http://elsewhere.example/')
    // Nobody was told a password.
    expect([...strangers.told, ...moved.told]).toEqual([undefined, undefined])
    for (const url of ['nonsense', 'ftp://127.0.0.1', 'http://a:b@127.0.0.1', 'http://127.0.0.1/?a=b']) {
      expect(failed(await asRoot('user', 'list', '--url', url), 2)).toContain('--url')
    }
  })

  test('who has taken the port of a server that is away is told nothing', async () => {
    const key = done(await asRoot('key', 'add', 'api', newName('nightly'), '--role', 'admin')).trim()
    const stranger = await pretending()
    const here = { ...environmentOf(server), PORT: String(stranger.port) }
    const folder = mkdtempSync(join(tmpdir(), 'nobody-'))
    const missing = { ...here, DATA_DIR: folder }
    // What a server left that was killed: its key is not known to who came behind it.
    const left = { ...here, DATA_DIR: join(folder, 'left') }
    mkdirSync(left.DATA_DIR)
    await writeServerFile(left.DATA_DIR, { host: '127.0.0.1', port: stranger.port, key: 'k'.repeat(43) })
    const list = ['user', 'list']
    const backUp = ['backup', join(folder, 'x.backup')]
    const tries = [
      [here, { ADMIN_API_KEY: key }, backUp, `listens at 127.0.0.1:${server.port}`],
      [missing, rootThere, list, 'has no running server'],
      [left, { ADMIN_API_KEY: key }, list, 'did not prove'],
      [left, rootThere, backUp, 'did not prove'],
    ] as const
    await Promise.all(
      tries.map(async ([environment, who, args, why]) => {
        const notes = failed(await administerAt({ ...environment, ...who }, args), 1)
        expect(notes).toContain(why)
        expect(notes).toContain('--url')
      }),
    )
    expect(stranger.told).toEqual([])
    expect(readdirSync(folder)).toEqual(['left'])
    rmSync(folder, { recursive: true })
  })

  test('a server that is found nowhere while its folder is in use is not worked behind', async () => {
    const { url, server: closed } = await foreign(404)
    closed.close()
    for (const port of [new URL(url).port, '0']) {
      const notes = failed(await as({ ...rootThere, PORT: port }, ['user', 'list']), 1)
      expect(notes).toContain('another process uses this folder')
      expect(notes).toContain('--url')
    }
  })

  test('IAM=off is said, and no password is asked for', async () => {
    const open = await StartedServer.start({ IAM: 'off' })
    started.push(open)
    expect(failed(await administerAt(environmentOf(open), ['user', 'list']), 1)).toContain('IAM is off')
  })

  /** Says of itself whatever ours would; and the credentials that it was shown. */
  async function pretending() {
    const told: string[] = []
    const server = createServer(({ headers }, response) => {
      const { authorization, 'x-api-key': key } = headers
      told.push(...[authorization, key].filter((each) => each !== undefined).map(String))
      response.writeHead(200, { 'Server-Proof': 'k'.repeat(43), Connection: 'close' }).end('{"status":"ok"}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    others.push(server)
    return { told, port: (server.address() as AddressInfo).port }
  }

  /** Another server than ours, and the credentials it was shown. */
  async function foreign(status: number) {
    const shown: (string | undefined)[] = []
    const server = createServer((request, response) => {
      shown.push(request.headers.authorization)
      response.writeHead(status, { Location: 'http://elsewhere.example/', Connection: 'close' }).end('<html>')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    others.push(server)
    return { server, told: shown, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  }
})
