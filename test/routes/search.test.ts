import { afterAll, expect, test } from 'vitest'
import { deviceAddress } from '#actors/device/device'
import type { Grant } from '#model/scope'
import { pagesOf } from '#test/blackbox/pages'
import { ServerWithUsers } from '#test/routes/server-with-users'

const server = await ServerWithUsers.open()
afterAll(() => server.close())
const metas: Record<string, object> = {
  A1: { name: 'Boiler Élan', site: 'Hamburg', tags: ['hot', 'leased'] },
  A2: { name: 'Boiler', site: 'Köln, Weißgasse' },
  B1: { name: 7, site: { city: 'Hamburg' }, tags: 'hot' },
  B2: { name: `${'x'.repeat(256)}deep`, tags: [...Array(32).fill('tag'), 'last'] },
}
for (const [deviceIdentifier, meta] of Object.entries(metas)) {
  await server.call('root', 'POST', '/devices', { deviceIdentifier, meta })
}
await server.call('root', 'POST', '/devices', { deviceIdentifier: 'C1' })
await server.ask(deviceAddress('default', 'C1'), {
  type: 'hello',
  session: 's',
  services: [],
  project: 'pump',
  firmwares: [{ index: 0, firmware: '2.4.1-Beta', hardware: '1.0.0' }],
  isAutoUpdated: false,
  isConnect: true,
})
const read: Grant['permissions'] = { service: ['read'] }
server.give('states', [{ permissions: read, devices: ['*'], services: ['*'] }])
server.give('one', [
  { permissions: read, devices: ['*'], services: ['*'] },
  { permissions: { meta: ['read'] }, devices: ['A2'], services: ['*'] },
])

async function namesFound(search: string, user = 'root', more = ''): Promise<string> {
  const { status, json } = await server.call(user, 'GET', `/devices?search=${encodeURIComponent(search)}${more}`)
  expect(status).toBe(200)
  return (json as { deviceIdentifier: string }[]).map(({ deviceIdentifier }) => deviceIdentifier).join(' ')
}

test.each([
  ['', 'A1 A2 B1 B2 C1'],
  ['  ', 'A1 A2 B1 B2 C1'],
  ['an', 'A1'],
  ['boiler', 'A1 A2'],
  ['BOIL 1', 'A1'],
  ['elan', 'A1'],
  ['ÉLAN', 'A1'],
  ['koln boiler', 'A2'],
  ['WEISSGASSE', 'A2'],
  ['weißgasse', 'A2'],
  ['hot', 'A1'],
  // The text beyond 256 characters and the tags after the 32nd are not searched.
  ['deep', ''],
  ['last', ''],
  ['hamburg', 'A1'],
  ['hotleased', ''],
  ['2.4 beta', 'C1'],
  ['1.0.0', 'C1'],
  ['7', ''],
  ['pump', ''],
])('"%s" finds %s', async (search, devices) => {
  expect(await namesFound(search)).toBe(devices)
})

test('a caller finds nothing by data that it may not read', async () => {
  expect(await namesFound('boiler', 'states')).toBe('')
  expect(await namesFound('beta', 'states')).toBe('')
  expect(await namesFound('a', 'states')).toBe('A1 A2')
  expect(await namesFound('boiler', 'one')).toBe('A2')
})

test('a search combines with pages, filter and names', async () => {
  expect(await namesFound('1', 'root', '&deviceIdentifier=A1&deviceIdentifier=A2')).toBe('A1')
  expect(
    await namesFound('1', 'root', `&filter=${encodeURIComponent('{"in":["B",{"var":"deviceIdentifier"}]}')}`),
  ).toBe('B1')
  const pages = await pagesOf((path) => server.call('root', 'GET', path), '/devices?search=1&limit=1')
  expect(pages.map(({ json }) => json)).toEqual(['A1', 'B1', 'C1'].map((name) => [{ deviceIdentifier: name }]))
})

test('a search follows changes of metadata, new devices and removed ones', async () => {
  expect(await namesFound('zebra')).toBe('')
  await server.call('root', 'PATCH', '/meta/B2', { name: 'Zebra' })
  await server.call('root', 'POST', '/devices', { deviceIdentifier: 'AA', meta: { tags: ['zebra'] } })
  expect(await namesFound('zebra')).toBe('AA B2')
  await server.call('root', 'DELETE', '/meta/B2/name')
  expect(await namesFound('zebra')).toBe('AA')
  await server.call('root', 'DELETE', '/devices/AA')
  expect(await namesFound('zebra')).toBe('')
})

test.each([['x'.repeat(257)], ['x '.repeat(17)]])('the search %s is refused', async (search) => {
  const { status, json } = await server.call('root', 'GET', `/devices?search=${encodeURIComponent(search)}`)
  expect([status, (json as { details: { path: string }[] }).details.map(({ path }) => path)]).toEqual([400, ['search']])
})
