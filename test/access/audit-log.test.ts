import { expect, test } from 'vitest'
import { AuditLog } from '#access/audit-log'
import { anonymous } from '#access/built-in-callers'
import { auditIndex } from '#actors/tenant/state'
import { IdentityFixture } from '#test/access/identity-fixture'

const request = { address: '192.0.2.1', method: 'PUT', path: '/p', resourceIdentifier: undefined }

async function openAuditLog() {
  const fixture = await IdentityFixture.open()
  await fixture.addTenant('acme')
  const lines: [string, string, unknown][] = []
  const line = (level: string) => (fields: object, message: string) =>
    lines.push([level, message, (fields as { path?: unknown }).path])
  const { system, listing } = fixture.assembly.context
  const log = new AuditLog({ system, log: { info: line('info'), warn: line('warn') }, isLogged: true })
  const add = (tenant: string | undefined, status: number, more: object = {}) =>
    log.add({ ...request, user: tenant === undefined ? undefined : { ...anonymous, tenant }, status, ...more })
  const rows = async (tenant: string): Promise<Record<string, unknown>[]> => {
    await fixture.wait(system.gate.whenStored())
    const pages = listing.entries(auditIndex, tenant)
    const page = await fixture.wait(pages.next(100_000))
    await pages.close()
    return page.map((entry) => JSON.parse(entry.slice(entry.indexOf('/') + 1)))
  }
  const count = async (tenant: string) => (await rows(tenant)).length
  return { fixture, log, add, rows, count, lines }
}

test.each([
  ['a caller', 'acme'],
  ['requests without credentials', undefined],
])('refusals of %s are stored at a limited rate, and dropped ones are counted', async (_, tenant) => {
  const { fixture, log, add, count } = await openAuditLog()
  const storedIn = tenant ?? 'default'
  const refuse = async (times: number) => {
    for (let time = 0; time < times; time++) void add(tenant, 403)
    return await count(storedIn)
  }
  expect(await refuse(1_200)).toBe(1_000)
  expect(log.counts).toEqual({ stored: 1_000, dropped: 200 })
  fixture.world.spend(1_000_000)
  expect(await refuse(1_200)).toBe(1_010)
  await fixture.wait(add(tenant, 204))
  expect(await count(storedIn)).toBe(1_011)
  await fixture.wait(add(tenant === undefined ? 'acme' : undefined, 403))
  expect(await count(tenant === undefined ? 'acme' : 'default')).toBe(1)
  await fixture.close()
})

test('refusals of all callers of a tenant are stored at a limited rate', async () => {
  const { fixture, add, count } = await openAuditLog()
  const refuse = (times: number) => {
    const users = Array.from({ length: 6 }, (_, index) => ({ ...anonymous, tenant: 'acme', user: `crn#user:${index}` }))
    for (let time = 0; time < times; time++) for (const user of users) void add('acme', 403, { user })
  }
  refuse(900)
  expect(await count('acme')).toBe(5_000)
  fixture.world.spend(1_000_000)
  refuse(100)
  expect(await count('acme')).toBe(5_050)
  await fixture.close()
})

test('entries of one millisecond keep their order, and a long path is cut with a mark', async () => {
  const { fixture, add, rows, lines } = await openAuditLog()
  for (const path of ['/1', '/2', `/${'x'.repeat(8_000)}`]) void add('acme', 200, { path })
  const paths = (await rows('acme')).map(({ path }) => path)
  expect(paths).toEqual([`/${'x'.repeat(510)}…`, '/2', '/1'])
  expect(lines).toEqual([...paths].reverse().map((path) => ['info', 'audit', path]))
  await fixture.close()
})

test('an entry that cannot be stored is logged, and the request is answered', async () => {
  const { fixture, add, lines } = await openAuditLog()
  fixture.faults.next = { fail: 'full', reachedDisk: false }
  await fixture.wait(add('acme', 200))
  expect(lines.at(-1)).toEqual(['warn', 'an entry of the audit was not stored', '/p'])
  await add('acme', 403)
  expect(lines).toHaveLength(2)
  fixture.errors.length = 0
  await fixture.close()
})

test('a deleted tenant gets no entries', async () => {
  const { fixture, add, count } = await openAuditLog()
  await fixture.directory({ type: 'delete_tenant', tenant: 'acme' })
  await fixture.wait(add('acme', 200))
  expect(await count('acme')).toBe(0)
  await fixture.close()
})
