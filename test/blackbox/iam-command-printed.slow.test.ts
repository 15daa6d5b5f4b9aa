import { mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Person, readToken, root, told } from '#test/blackbox/people'
import { type Environment, ServerRun, StartedServer } from '#test/blackbox/started-server'

/** Who is there first. Contract 2, First administrator. */
describe('the first administrator', () => {
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

  test('is printed once, on standard error and nowhere else', async () => {
    const server = await start()
    const [password = '', ...more] = printed(server)
    expect([password.length, more]).toEqual([20, []])
    expect(server.run.errors).toContain('admin')
    expect(server.run.output.split(password)).toHaveLength(2)
    const admin = await Person.signIn(server, { name: 'admin', password })
    expect(await admin.me()).toMatchObject({ name: 'admin', tenant: 'default', roles: ['admin'] })
    await server.stop()
    const again = await start()
    expect(printed(again)).toEqual([])
    expect((await readToken(again, { name: 'admin', password })).status).toBe(200)
    expect(await again.stop()).toBe(0)
  })

  test('is who the environment says, and is printed nowhere', async () => {
    const environment = { ADMIN_NAME: root.name, ADMIN_PASSWORD: root.password }
    const server = await start(environment)
    expect([printed(server), server.run.output.includes(root.password)]).toEqual([[], false])
    expect((await readToken(server, { name: 'admin', password: root.password })).status).toBe(401)
    expect(await (await Person.signIn(server)).me()).toMatchObject({ name: root.name, roles: ['admin'] })
    await server.stop()
    // With others there, one more who is asked for is made.
    const more = await start({ ADMIN_NAME: 'second', ADMIN_PASSWORD: 'another password' })
    for (const who of [root, { name: 'second', password: 'another password' }]) {
      expect((await readToken(more, who)).status).toBe(200)
    }
    await more.stop()
    const without = await start()
    expect(printed(without)).toEqual([])
  })

  test('who is there is never changed', async () => {
    const server = await start({ ADMIN_NAME: root.name, ADMIN_PASSWORD: root.password })
    const admin = await Person.signIn(server)
    await admin.bring('second', ['admin'])
    await admin.patch('/iam/users/root', { roles: ['viewer'] })
    await server.stop()
    const again = await start({ ADMIN_NAME: 'ROOT', ADMIN_PASSWORD: 'another password' })
    expect(told(await readToken(again, { name: 'root', password: 'another password' }))[0]).toBe(401)
    expect(await (await Person.signIn(again)).me()).toMatchObject({ name: 'root', roles: ['viewer'] })
  })

  test('half of one is a mistake: 78', async () => {
    for (const half of [{ ADMIN_NAME: 'root' }, { ADMIN_PASSWORD: 'correct horse battery' }]) {
      const run = new ServerRun({ IAM: 'on', DATA_DIR: folder, ...half })
      expect(await run.ended).toBe(78)
      expect(run.output).not.toContain('correct horse battery')
    }
  })
})

describe('the key beside the database', () => {
  test('is its owner’s alone, stays the same, and is never made anew under what needs it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'blackbox-'))
    const environment = { IAM: 'on', ADMIN_NAME: root.name, ADMIN_PASSWORD: root.password }
    const file = join(folder, 'identity.key')
    try {
      const server = await StartedServer.start(environment, folder)
      expect(statSync(file).mode & 0o777).toBe(0o600)
      const { token } = (await Person.signIn(server)).tokens
      await server.stop()
      renameSync(file, `${file}.away`)
      const without = new ServerRun({ ...environment, DATA_DIR: folder })
      expect(await without.ended).toBe(1)
      expect(without.output).toContain('identity.key')
      expect(() => statSync(file)).toThrow()
      renameSync(`${file}.away`, file)
      const again = await StartedServer.start(environment, folder)
      const answer = await again.get('/iam/me', { authorization: `Bearer ${token}` })
      expect(answer.status).toBe(200)
      await again.finish()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
