import { describe, expect, test } from 'vitest'
import type { Grant } from '#model/scope'
import { IdentityFixture } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'

const key = makeKeyPair()
const readOf = (resource: string, devices: readonly string[] = ['*']): Grant =>
  ({ permissions: { [resource]: ['read'] }, devices: [...devices], services: ['*'] }) as Grant

async function withAnn(grants: readonly Grant[] = [readOf('schemas')]): Promise<IdentityFixture> {
  const stage = await IdentityFixture.open()
  await stage.putRole('ops', grants)
  await stage.addUser('ann', { roles: ['ops'] })
  return stage
}

/** One more event in the stream. */
async function happen(stage: IdentityFixture, service: string): Promise<number> {
  await stage.tenant('default', { type: 'put_schema', service, schema: { serviceIdentifier: service } as never })
  return stage.assembly.context.hub.publishedTo('default')
}

describe('an edit of access', () => {
  test('applies to an older token and an answer in progress', async () => {
    const stage = await withAnn()
    const { token } = await stage.basic('ann')
    const before = await stage.bearer(token)
    expect(before.scope.reaches('meta', 'read')).toEqual([])
    await stage.putRole('ops', [readOf('schemas'), readOf('meta')])
    expect(before.isCurrent()).toBe(false)
    expect((await stage.bearer(token)).scope.reaches('meta', 'read')).toHaveLength(1)
    expect(await stage.bearer(token)).toBe(await stage.bearer(token))
  })

  test('applies to all users with other roles, also through their API keys', async () => {
    const stage = await withAnn()
    const { token } = await stage.basic('ann')
    const socket = stage.connect(await stage.bearer(token))
    await stage.putRole('more', [readOf('meta')])
    await stage.directory({ type: 'update_user', user: stage.row('ann').id, roles: ['more', 'ops'] })
    expect(await stage.bearer(token)).toMatchObject({ access: 'more,ops', roles: ['more', 'ops'] })
    expect(socket.types).toEqual(['RESYNC'])
    expect(stage.identity.sockets.callerOf(socket)).toMatchObject({ access: 'more,ops' })
  })

  test('changes nothing if no rights changed', async () => {
    const stage = await withAnn()
    const { token } = await stage.basic('ann')
    const caller = await stage.bearer(token)
    const socket = stage.connect(caller)
    await stage.directory({ type: 'update_user', user: stage.row('ann').id, email: 'ann@acme.example' })
    await stage.putRole('ops', [readOf('schemas')])
    await stage.putRole('other', [readOf('meta')])
    expect(caller.isCurrent()).toBe(true)
    expect(socket.types).toEqual([])
  })
})

describe('a user who is removed and created again under the same name', () => {
  test('is another user: old credentials are invalid, and edits apply to the new ones, each with its offset', async () => {
    const stage = await withAnn()
    const before = await stage.basic('ann')
    const { id } = stage.row('ann')
    await happen(stage, 'one')
    await stage.directory({ type: 'remove_user', user: id })
    await stage.addUser('ann', { roles: ['ops'] })
    expect([stage.row('ann').id === id, stage.row('ann').rolesSince]).toEqual([false, -1])
    const { token } = await stage.basic('ann')
    const socket = stage.connect(await stage.bearer(token))

    await stage.putRole('ops', [readOf('meta')])
    expect((await stage.bearer(token)).scope.reaches('meta', 'read')).toHaveLength(1)
    expect(socket.types).toEqual(['RESYNC'])
    await stage.directory({ type: 'update_user', user: stage.row('ann').id, roles: ['viewer'] })
    expect(await stage.bearer(token)).toMatchObject({ access: 'viewer', roles: ['viewer'] })
    expect(socket.types).toEqual(['RESYNC', 'RESYNC'])
    await stage.world.settle()
    const heard = stage.assembly.context.hub.publishedTo('default')
    expect([stage.row('ann').rolesSince, (await stage.bearer(token)).scopeSince]).toEqual([heard, heard])

    expect(await stage.judge(() => stage.bearer(before.token))).toBe('unauthorized session over')
    const reborn = await stage.restart()
    expect(await reborn.judge(() => reborn.bearer(before.token))).toBe('unauthorized session over')
    expect(await reborn.bearer(token)).toMatchObject({ access: 'viewer', scopeSince: heard })
  })
})

describe('4401', () => {
  test.each(['disabled', 'removed'] as const)('closes the sockets of a user who is %s at once', async (how) => {
    const stage = await withAnn()
    const { token } = await stage.basic('ann')
    const socket = stage.connect(await stage.bearer(token))
    const user = stage.row('ann').id
    if (how === 'disabled') await stage.directory({ type: 'update_user', user, state: 'disabled' })
    else await stage.directory({ type: 'remove_user', user })
    expect(await stage.judge(() => stage.bearer(token))).toBe('unauthorized session over')
    await stage.world.settle()
    expect(socket.endCode).toBe(4401)
  })
})

describe('the offset of an edit', () => {
  test('is known and stored', async () => {
    const stage = await withAnn()
    const { token } = await stage.basic('ann')
    expect((await stage.bearer(token)).scopeSince).toBe(-1)
    const heard = await happen(stage, 'one')
    await stage.putRole('ops', [readOf('meta')])
    await stage.world.settle()
    expect((await stage.bearer(token)).scopeSince).toBe(heard)
    expect(stage.tenantState().roles.get('ops')?.since).toBe(heard)
    const later = await happen(stage, 'two')
    await stage.directory({ type: 'update_user', user: stage.row('ann').id, roles: ['viewer'] })
    await stage.world.settle()
    expect((await stage.bearer(token)).scopeSince).toBe(later)
    expect(stage.row('ann').rolesSince).toBe(later)
    await happen(stage, 'three')
    const reborn = await stage.restart()
    expect((await reborn.bearer(token)).scopeSince).toBe(later)
  })

  // Killed after this many writes: only the edit, or also the edit of its offset.
  test.each([0, 1, 2, 3])('is never too early after a kill with %i writes kept', async (writesKept) => {
    const stage = await withAnn()
    const { token } = await stage.basic('ann')
    const heard = await happen(stage, 'one')
    const { system, reader } = stage.assembly.context
    const { epoch } = reader
    const edit = { type: 'put_role', role: 'ops', grants: [readOf('schemas'), readOf('meta')] }
    void system.ask({ kind: 'tenant', tenant: 'default', id: 'default' }, edit).catch(() => {})
    for (let step = 0; step < writesKept * 2; step++) stage.world.step()
    await Promise.resolve()
    const later = await stage.restart({}, writesKept)
    const caller = await later.bearer(token)
    const socket = later.connect(caller, { after: { epoch, offset: heard } })
    const isEdited = caller.scope.reaches('meta', 'read').length > 0
    expect(socket.heard[0]).toMatchObject({ type: 'STREAM', recovered: !isEdited })
    await later.world.settle()
    expect(later.tenantState().roles.get('ops')?.since).not.toBeNull()
  })
})

describe('an edit without a stored offset gets one', () => {
  /** Roles of a user, or the grants of a role. */
  const edits: Readonly<Record<string, (stage: IdentityFixture) => Promise<unknown>>> = {
    'of a role': (stage) => stage.putRole('ops', [readOf('schemas'), readOf('meta')]),
    'of the roles of a user': (stage) =>
      stage.directory({ type: 'update_user', user: stage.row('ann').id, roles: ['viewer'] }),
    'of the roles of a disabled user': (stage) =>
      stage.directory({ type: 'update_user', user: stage.row('ann').id, roles: ['viewer'], state: 'disabled' }),
  }
  const sinceOf = (stage: IdentityFixture, name: string) =>
    name === 'of a role' ? stage.tenantState().roles.get('ops')?.since : stage.row('ann').rolesSince

  /** The edit is stored, but the next write with its offset is lost. */
  async function edited(name: string): Promise<{ stage: IdentityFixture; heard: number }> {
    const stage = await withAnn()
    await happen(stage, 'one')
    const heard = await happen(stage, 'two')
    let writes = 0
    Object.defineProperty(stage.faults, 'next', {
      get: () => (++writes === 2 ? { fail: 'full', reachedDisk: false } : undefined),
      set: () => {},
    })
    await edits[name]?.(stage)
    await stage.world.settle()
    expect([stage.assembly.database.status, sinceOf(stage, name)]).toEqual(['read_only', null])
    return { stage, heard }
  }

  test.each(Object.keys(edits))('at the next start: %s', async (name) => {
    const { stage, heard } = await edited(name)
    const later = await stage.restart()
    await later.world.settle()
    expect(sinceOf(later, name)).toBe(heard)
    await happen(later, 'three')
    expect(sinceOf(await later.restart(), name)).toBe(heard)
  })

  test.each(Object.keys(edits))('when the store is read again: %s', async (name) => {
    const { stage, heard } = await edited(name)
    await stage.world.advance(5_000)
    expect([stage.assembly.database.status, sinceOf(stage, name)]).toEqual(['ok', heard])
    await happen(stage, 'three')
    expect(sinceOf(await stage.restart(), name)).toBe(heard)
    expect(stage.errors.filter((error) => error.startsWith('a bug'))).toEqual([])
  })
})

test('an API key has the rights of its roles until it is deleted or expires', async () => {
  const stage = await withAnn()
  const { hashOf, apiKeyText } = await import('#access/secret-text')
  const secret = 'A'.repeat(43)
  const [text, dueText] = [apiKeyText('default', '2Vb7qYx9Kd', secret), apiKeyText('default', '3Vb7qYx9Kd', secret)]
  const add = { type: 'add_api_key', name: 'a script', roles: ['ops'] } as const
  const expiresAt = stage.world.now() + 60_000
  await stage.tenant('default', { ...add, id: '2Vb7qYx9Kd', hash: hashOf(text), expiresAt: null })
  await stage.tenant('default', { ...add, id: '3Vb7qYx9Kd', hash: hashOf(dueText), expiresAt })
  const ask = (shown: string) => stage.caller({ headers: { 'x-api-key': shown } })
  expect(await ask(text)).toMatchObject({ user: 'crn#key:2Vb7qYx9Kd', name: 'a script', roles: ['ops'], access: 'ops' })
  expect(await stage.judge(() => ask(`${text.slice(0, -1)}B`))).toBe('unauthorized invalid API key')
  expect(await stage.judge(() => stage.caller({ headers: { 'x-api-key': text } }, 'person'))).toBe(
    'forbidden Forbidden',
  )
  const both = { authorization: `Bearer ${(await stage.basic('ann')).token}`, 'x-api-key': text }
  expect(await stage.judge(() => stage.caller({ headers: both }))).toBe('unauthorized more than one credential')
  const [socket, due] = [stage.connect(await ask(text)), stage.connect(await ask(dueText))]
  await stage.putRole('ops', [readOf('meta')])
  expect(socket.types).toEqual(['RESYNC'])
  expect((await ask(text)).scope.reaches('meta', 'read')).toHaveLength(1)
  await stage.world.advance(expiresAt - stage.world.now() - 1)
  await stage.world.settle()
  expect([socket.endCode, due.endCode]).toEqual([undefined, undefined])
  await stage.world.advance(1)
  await stage.world.settle()
  expect([socket.endCode, due.endCode]).toEqual([undefined, 4401])
  expect(await stage.judge(() => ask(dueText))).toBe('unauthorized invalid API key')
  await stage.tenant('default', { type: 'delete_key', kind: 'api_key', id: '2Vb7qYx9Kd' })
  await stage.world.settle()
  expect(socket.endCode).toBe(4401)
  expect(await stage.judge(() => ask(text))).toBe('unauthorized invalid API key')
})

test('a key leaves no trace in the log', async () => {
  const stage = await withAnn()
  await stage.logIn('ann', key)
  expect(stage.errors).toEqual([])
})
