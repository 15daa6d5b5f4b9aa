import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Person, startWithIdentity } from '#test/blackbox/people'
import { type Answer, type Ask, StartedServer } from '#test/blackbox/started-server'
import { storedIn } from '#test/blackbox/stored-in'

/** `Idempotency-Key` over real sockets and a real store. Contract 1.10. */

const schema = (name: string) => ({ name, properties: { '0x2000': { name: 'temperature', type: 'float' } } })
const keyed = (key: string) => ({ 'idempotency-key': key })

async function offsetOf(server: StartedServer): Promise<number> {
  return Number((await server.get('/schemas')).headers.get('stream-offset'))
}

describe('without identity', () => {
  let server: StartedServer
  beforeAll(async () => {
    server = await StartedServer.start()
  })
  afterAll(() => server.finish())

  const put = (path: string, key: string, name = 'x') =>
    server.ask(path, { method: 'PUT', body: schema(name), headers: keyed(key) })

  test('a request is done once, and another one under its key is not', async () => {
    const first = await put('/schemas/once', 'once')
    expect(first.status).toBe(200)
    const offset = await offsetOf(server)
    expect(await server.ask('/schemas/once', { method: 'PUT', body: schema('y') })).toMatchObject({ status: 200 })
    const again = await put('/schemas/once', 'once')
    expect([again.status, again.text]).toEqual([200, first.text])
    expect(await put('/schemas/once', 'once', 'z')).toMatchObject({ status: 422 })
    expect(await put('/schemas/twice', 'once')).toMatchObject({ status: 422 })
    expect(await offsetOf(server)).toBe(offset + 1)
  })

  test('a refusal is said again, also when it would not be one any more', async () => {
    const remove = () => server.ask('/schemas/later', { method: 'DELETE', headers: keyed('later') })
    const first = await remove()
    expect([first.status, first.json]).toEqual([404, { error: 'Not Found' }])
    expect(await put('/schemas/later', 'made')).toMatchObject({ status: 200 })
    const again = await remove()
    expect([again.status, again.text]).toEqual([404, first.text])
    expect(await server.get('/schemas/later')).toMatchObject({ status: 200 })
  })

  test('of ten thousand devices one group is made, and one alarm', async () => {
    const devices = Array.from({ length: 10_000 }, (_, number) => `DEVICE-${number}`)
    const alarm = { name: 'x', severity: 'info', serviceIdentifier: 'x', condition: { var: '0x1' }, devices }
    for (const [path, body] of [
      ['/groups', { name: 'x', devices }],
      ['/alarms', alarm],
    ] as const) {
      const make = () => server.ask(path, { method: 'POST', body, headers: keyed(`large${path}`) })
      const first = await make()
      const again = await make()
      expect(first.status).toBe(201)
      expect([again.status, again.text === first.text]).toEqual([201, true])
      expect(again.headers.get('location')).toBe(first.headers.get('location'))
      expect((await server.get(path)).json).toHaveLength(1)
    }
  })

  test.each(['', 'a b', 'x'.repeat(256)])('%j is no key', async (key) => {
    const refused = await put('/schemas/no-key', key)
    expect([refused.status, refused.json]).toEqual([400, { error: expect.stringContaining('Idempotency-Key') }])
    expect(await server.get('/schemas/no-key')).toMatchObject({ status: 404 })
  })

  test('of fifty at once one is done; the others hear the same, or that it runs', async () => {
    const offset = await offsetOf(server)
    const heard = await Promise.all(Array.from({ length: 50 }, () => put('/schemas/many', 'many')))
    const done = heard.filter(({ status }) => status === 200)
    const running = heard.filter(({ status }) => status === 409)
    expect([done.length > 0, done.length + running.length]).toEqual([true, 50])
    expect(new Set(done.map(({ text }) => text)).size).toBe(1)
    for (const { json } of running) expect(json).toEqual({ error: expect.stringContaining('still running') })
    expect(await offsetOf(server)).toBe(offset + 1)
  })
})

/** What is asked in one round: schemas put, and others deleted, which cannot be done twice with the same answer. */
interface Task extends Ask {
  readonly path: string
  readonly headers: Record<string, string>
}

test.each([5, 60, 110])(
  'killed after %i answers: asked again, each is done once and stays what it was',
  async (count) => {
    const server = await StartedServer.start()
    try {
      const names = Array.from({ length: 60 }, (_, index) => `s${index}`)
      for (const name of names) await server.ask(`/schemas/old-${name}`, { method: 'PUT', body: schema(name) })
      const tasks = names.flatMap((name): Task[] => [
        { path: `/schemas/new-${name}`, method: 'PUT', body: schema(name), headers: keyed(`put-${name}`) },
        { path: `/schemas/old-${name}`, method: 'DELETE', headers: keyed(`delete-${name}`) },
      ])
      const answered = new Map<Task, Answer>()
      const queue = [...tasks]
      const work = async () => {
        for (let task = queue.shift(); task; task = queue.shift()) {
          const answer = await server.ask(task.path, task).catch(() => undefined)
          if (!answer) return
          answered.set(task, answer)
          if (answered.size === count) server.run.signal('SIGKILL')
        }
      }
      await Promise.all(Array.from({ length: 16 }, work))
      await server.run.ended
      expect(answered.size).toBeGreaterThanOrEqual(count)
      await server.startAgain()

      const shown = ({ status, text }: Answer) => [status, text]
      for (const task of tasks) {
        const before = answered.get(task)
        const again = await server.ask(task.path, task)
        if (before) expect(shown(again)).toEqual(shown(before))
        // Gone already, and nobody heard of it.
        else expect(task.method === 'PUT' ? [200] : [204, 404]).toContain(again.status)
        expect(shown(await server.ask(task.path, task))).toEqual(shown(again))
      }
      // One made, one made and one deleted for each name: nothing was told twice.
      expect(await offsetOf(server)).toBe(3 * names.length)
      const left = (await server.get('/schemas')).json as { serviceIdentifier: string }[]
      expect(left.map(({ serviceIdentifier }) => serviceIdentifier).sort()).toEqual(
        names.map((name) => `new-${name}`).sort(),
      )
    } finally {
      await server.discard()
    }
  },
)

test('of what holds secrets nothing is kept; of the rest the answer, until the next start and beyond', async () => {
  const server = await startWithIdentity()
  try {
    const admin = await Person.signIn(server)
    const bodies = {
      '/iam/users': { name: 'ann', roles: ['viewer'] },
      '/iam/api-keys': { name: 'Reporting', roles: ['viewer'] },
      '/iam/provisioning-keys': { name: 'Hall 3' },
      '/devices': { deviceIdentifier: 'SECRET-1' },
      '/devices/SECRET-1/secret': undefined,
      '/iam/users/ann/code': undefined,
    }
    const secrets: string[] = []
    for (const [path, body] of Object.entries(bodies)) {
      const made = await admin.ask(path, { method: 'POST', body, headers: keyed(`secret ${path}`.replace(' ', '-')) })
      expect([path, made.headers.get('cache-control')]).toEqual([path, 'no-store'])
      const { code, key, secret } = made.json as Record<string, string>
      secrets.push(code ?? key ?? secret ?? '', made.text, ...printsOf('POST', path, body))
    }
    const change = { current: admin.password, password: 'another password than before' }
    const changed = await admin.ask('/auth/password', { method: 'PUT', body: change, headers: keyed('password') })
    expect(changed.status).toBe(204)
    secrets.push(change.password, ...printsOf('PUT', '/auth/password', change))

    const role = { grants: [{ permissions: { meta: ['read'] }, devices: ['*'], services: ['*'] }] }
    const putRole = () => admin.ask('/iam/roles/ops', { method: 'PUT', body: role, headers: keyed('role') })
    const first = await putRole()
    expect(first.status).toBe(200)
    expect(await server.stop()).toBe(0)
    const stored = await storedIn(server.dataFolder)
    // It looks where things are.
    const [print = ''] = printsOf('PUT', '/iam/roles/ops', role)
    for (const known of [first.text, print]) expect(stored).toContain(known)
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(8)
      expect(stored).not.toContain(secret)
    }
    await server.startAgain()
    const again = await putRole()
    expect([again.status, again.text]).toEqual([200, first.text])
  } finally {
    await server.discard()
  }
})

/** By what two requests are compared where that is stored, and the hash of the body alone. */
function printsOf(method: string, path: string, body: unknown): string[] {
  const bytes = body === undefined ? '' : JSON.stringify(body)
  const print = createHash('sha256').update(JSON.stringify([method, `/api/v1${path}`, '']) + bytes)
  const hashes = bytes === '' ? [] : [createHash('sha256').update(bytes)]
  return [print, ...hashes].flatMap((hash) => {
    const digest = hash.digest()
    return [digest.toString('base64url'), digest.toString('hex'), digest.toString('latin1')]
  })
}
