import { describe, expect, test } from 'vitest'
import type { Grant } from '#model/scope'
import { IdentityFixture } from '#test/access/identity-fixture'

const readOf = (resource: string, devices: readonly string[] = ['*']): Grant =>
  ({ permissions: { [resource]: ['read'] }, devices: [...devices], services: ['*'] }) as Grant

async function withAnn(grants: readonly Grant[] = [readOf('schemas')]): Promise<IdentityFixture> {
  const fixture = await IdentityFixture.open()
  await fixture.putRole('ops', grants)
  await fixture.addUser('ann', { roles: ['ops'] })
  return fixture
}

/** Publishes one more event, and returns its offset. */
async function publishEvent(fixture: IdentityFixture, service: string): Promise<number> {
  await fixture.tenant('default', { type: 'put_schema', service, schema: { serviceIdentifier: service } as never })
  return fixture.assembly.context.events.hub.publishedTo('default')
}

describe('an edit of access', () => {
  test('applies to a token that was issued before, and makes the earlier caller outdated', async () => {
    const fixture = await withAnn()
    const { token } = await fixture.basic('ann')
    const before = await fixture.bearer(token)
    expect(before.scope.reaches('meta', 'read')).toEqual([])
    await fixture.putRole('ops', [readOf('schemas'), readOf('meta')])
    expect(before.isCurrent()).toBe(false)
    expect((await fixture.bearer(token)).scope.reaches('meta', 'read')).toHaveLength(1)
    expect(await fixture.bearer(token)).toBe(await fixture.bearer(token))
  })

  test('of the roles of a user applies to their token and their open sockets', async () => {
    const fixture = await withAnn()
    const { token } = await fixture.basic('ann')
    const socket = fixture.connect(await fixture.bearer(token))
    await fixture.putRole('more', [readOf('meta')])
    await fixture.directory({ type: 'update_user', user: fixture.row('ann').id, roles: ['more', 'ops'] })
    expect(await fixture.bearer(token)).toMatchObject({ access: 'more,ops', roles: ['more', 'ops'] })
    expect(socket.types).toEqual(['RESYNC'])
    expect(fixture.identity.sockets.callerOf(socket)).toMatchObject({ access: 'more,ops' })
  })

  test('changes nothing if no rights changed', async () => {
    const fixture = await withAnn()
    const { token } = await fixture.basic('ann')
    const caller = await fixture.bearer(token)
    const socket = fixture.connect(caller)
    await fixture.directory({ type: 'update_user', user: fixture.row('ann').id, email: 'ann@acme.example' })
    await fixture.putRole('ops', [readOf('schemas')])
    await fixture.putRole('other', [readOf('meta')])
    expect(caller.isCurrent()).toBe(true)
    expect(socket.types).toEqual([])
  })
})

test('a user who is created again under the same name is another user, and the old credentials stay invalid', async () => {
  const fixture = await withAnn()
  const before = await fixture.basic('ann')
  const { id } = fixture.row('ann')
  await publishEvent(fixture, 'one')
  await fixture.directory({ type: 'remove_user', user: id })
  await fixture.addUser('ann', { roles: ['ops'] })
  expect([fixture.row('ann').id === id, fixture.row('ann').rolesSince]).toEqual([false, -1])
  const { token } = await fixture.basic('ann')
  const socket = fixture.connect(await fixture.bearer(token))

  await fixture.putRole('ops', [readOf('meta')])
  expect((await fixture.bearer(token)).scope.reaches('meta', 'read')).toHaveLength(1)
  expect(socket.types).toEqual(['RESYNC'])
  await fixture.directory({ type: 'update_user', user: fixture.row('ann').id, roles: ['viewer'] })
  expect(await fixture.bearer(token)).toMatchObject({ access: 'viewer', roles: ['viewer'] })
  expect(socket.types).toEqual(['RESYNC', 'RESYNC'])
  await fixture.world.settle()
  const publishedAt = fixture.assembly.context.events.hub.publishedTo('default')
  expect([fixture.row('ann').rolesSince, (await fixture.bearer(token)).scopeSince]).toEqual([publishedAt, publishedAt])

  expect(await fixture.judge(() => fixture.bearer(before.token))).toBe('unauthorized session over')
  const reborn = await fixture.restart()
  expect(await reborn.judge(() => reborn.bearer(before.token))).toBe('unauthorized session over')
  expect(await reborn.bearer(token)).toMatchObject({ access: 'viewer', scopeSince: publishedAt })
})

test.each(['disabled', 'removed'] as const)('the sockets of a user who is %s close at once with 4401', async (how) => {
  const fixture = await withAnn()
  const { token } = await fixture.basic('ann')
  const socket = fixture.connect(await fixture.bearer(token))
  const user = fixture.row('ann').id
  if (how === 'disabled') await fixture.directory({ type: 'update_user', user, state: 'disabled' })
  else await fixture.directory({ type: 'remove_user', user })
  expect(await fixture.judge(() => fixture.bearer(token))).toBe('unauthorized session over')
  await fixture.world.settle()
  expect(socket.endCode).toBe(4401)
})

describe('the offset of an edit of access', () => {
  test('is that of the last event before the edit, and is stored', async () => {
    const fixture = await withAnn()
    const { token } = await fixture.basic('ann')
    expect((await fixture.bearer(token)).scopeSince).toBe(-1)
    const publishedAt = await publishEvent(fixture, 'one')
    await fixture.putRole('ops', [readOf('meta')])
    await fixture.world.settle()
    expect((await fixture.bearer(token)).scopeSince).toBe(publishedAt)
    expect(fixture.tenantState().roles.get('ops')?.since).toBe(publishedAt)
    const later = await publishEvent(fixture, 'two')
    await fixture.directory({ type: 'update_user', user: fixture.row('ann').id, roles: ['viewer'] })
    await fixture.world.settle()
    expect((await fixture.bearer(token)).scopeSince).toBe(later)
    expect(fixture.row('ann').rolesSince).toBe(later)
    await publishEvent(fixture, 'three')
    const reborn = await fixture.restart()
    expect((await reborn.bearer(token)).scopeSince).toBe(later)
  })

  // The kill keeps no write, only the edit, or also the offset of the edit.
  test.each([0, 1, 2, 3])('is never too early after a kill with %i writes kept', async (writesKept) => {
    const fixture = await withAnn()
    const { token } = await fixture.basic('ann')
    const publishedAt = await publishEvent(fixture, 'one')
    const {
      system,
      events: { reader },
    } = fixture.assembly.context
    const { epoch } = reader
    const edit = { type: 'put_role', role: 'ops', grants: [readOf('schemas'), readOf('meta')] }
    void system.ask({ kind: 'tenant', tenant: 'default', id: 'default' }, edit).catch(() => {})
    for (let step = 0; step < writesKept * 2; step++) fixture.world.step()
    await Promise.resolve()
    const later = await fixture.restart({}, writesKept)
    const caller = await later.bearer(token)
    const socket = later.connect(caller, { after: { epoch, offset: publishedAt } })
    const isEdited = caller.scope.reaches('meta', 'read').length > 0
    expect(socket.received[0]).toMatchObject({ type: 'STREAM', recovered: !isEdited })
    await later.world.settle()
    expect(later.tenantState().roles.get('ops')?.since).not.toBeNull()
  })
})

describe('an edit of access without a stored offset gets an offset', () => {
  /** Edits of the roles of a user, or of the grants of a role. */
  const edits: Readonly<Record<string, (fixture: IdentityFixture) => Promise<unknown>>> = {
    'of a role': (fixture) => fixture.putRole('ops', [readOf('schemas'), readOf('meta')]),
    'of the roles of a user': (fixture) =>
      fixture.directory({ type: 'update_user', user: fixture.row('ann').id, roles: ['viewer'] }),
    'of the roles of a disabled user': (fixture) =>
      fixture.directory({ type: 'update_user', user: fixture.row('ann').id, roles: ['viewer'], state: 'disabled' }),
  }
  const sinceOf = (fixture: IdentityFixture, name: string) =>
    name === 'of a role' ? fixture.tenantState().roles.get('ops')?.since : fixture.row('ann').rolesSince

  /** The edit is stored, but the next write, which has the offset of the edit, is lost. */
  async function failedEdit(name: string): Promise<{ fixture: IdentityFixture; publishedAt: number }> {
    const fixture = await withAnn()
    await publishEvent(fixture, 'one')
    const publishedAt = await publishEvent(fixture, 'two')
    let writes = 0
    Object.defineProperty(fixture.faults, 'next', {
      get: () => (++writes === 2 ? { fail: 'full', reachedDisk: false } : undefined),
      set: () => {},
    })
    await edits[name]?.(fixture)
    await fixture.world.settle()
    expect([fixture.assembly.database.status, sinceOf(fixture, name)]).toEqual(['read_only', null])
    return { fixture, publishedAt }
  }

  test.each(Object.keys(edits))('at the next start: %s', async (name) => {
    const { fixture, publishedAt } = await failedEdit(name)
    const later = await fixture.restart()
    await later.world.settle()
    expect(sinceOf(later, name)).toBe(publishedAt)
    await publishEvent(later, 'three')
    expect(sinceOf(await later.restart(), name)).toBe(publishedAt)
  })

  test.each(Object.keys(edits))('when the store is read again: %s', async (name) => {
    const { fixture, publishedAt } = await failedEdit(name)
    await fixture.world.advance(5_000)
    expect([fixture.assembly.database.status, sinceOf(fixture, name)]).toEqual(['ok', publishedAt])
    await publishEvent(fixture, 'three')
    expect(sinceOf(await fixture.restart(), name)).toBe(publishedAt)
    expect(fixture.errors.filter((error) => error.startsWith('a bug'))).toEqual([])
  })
})

test('an API key has the rights of its roles until it is deleted or expires', async () => {
  const fixture = await withAnn()
  const { hashOf, apiKeyText } = await import('#access/secret-text')
  const secret = 'A'.repeat(43)
  const [text, dueText] = [apiKeyText('default', '2Vb7qYx9Kd', secret), apiKeyText('default', '3Vb7qYx9Kd', secret)]
  const add = { type: 'add_api_key', name: 'a script', roles: ['ops'] } as const
  const expiresAt = fixture.world.now() + 60_000
  await fixture.tenant('default', { ...add, id: '2Vb7qYx9Kd', hash: hashOf(text), expiresAt: null })
  await fixture.tenant('default', { ...add, id: '3Vb7qYx9Kd', hash: hashOf(dueText), expiresAt })
  const ask = (shown: string) => fixture.caller({ headers: { 'x-api-key': shown } })
  expect(await ask(text)).toMatchObject({ user: 'crn#key:2Vb7qYx9Kd', name: 'a script', roles: ['ops'], access: 'ops' })
  expect(await fixture.judge(() => ask(`${text.slice(0, -1)}B`))).toBe('unauthorized invalid API key')
  expect(await fixture.judge(() => fixture.caller({ headers: { 'x-api-key': text } }, 'user'))).toBe(
    'forbidden Forbidden',
  )
  const both = { authorization: `Bearer ${(await fixture.basic('ann')).token}`, 'x-api-key': text }
  expect(await fixture.judge(() => fixture.caller({ headers: both }))).toBe('unauthorized more than one credential')
  const [socket, due] = [fixture.connect(await ask(text)), fixture.connect(await ask(dueText))]
  await fixture.putRole('ops', [readOf('meta')])
  expect(socket.types).toEqual(['RESYNC'])
  expect((await ask(text)).scope.reaches('meta', 'read')).toHaveLength(1)
  await fixture.world.advance(expiresAt - fixture.world.now() - 1)
  await fixture.world.settle()
  expect([socket.endCode, due.endCode]).toEqual([undefined, undefined])
  await fixture.world.advance(1)
  await fixture.world.settle()
  expect([socket.endCode, due.endCode]).toEqual([undefined, 4401])
  expect(await fixture.judge(() => ask(dueText))).toBe('unauthorized invalid API key')
  await fixture.tenant('default', { type: 'delete_key', kind: 'api_key', id: '2Vb7qYx9Kd' })
  await fixture.world.settle()
  expect(socket.endCode).toBe(4401)
  expect(await fixture.judge(() => ask(text))).toBe('unauthorized invalid API key')
})
