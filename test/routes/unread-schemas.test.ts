import { afterAll, describe, expect, test } from 'vitest'
import type { Grant } from '#model/scope'
import { everywhere, grantOn, ServerWithUsers } from '#test/routes/server-with-users'

/** Names of a schema are resolved only for callers who may read it. Contract 3.2, 3.5, 3.7, 5.3. */

const without: Grant['permissions'] = { service: ['read', 'update'], alarms: ['*'] }
const people: Readonly<Record<string, readonly Grant[]>> = {
  reader: [everywhere({ ...without, schemas: ['read'] })],
  blind: [everywhere(without)],
  'reader of another': [everywhere(without), grantOn(['*'], ['other'], { schemas: ['read'] })],
}
const blind = ['blind', 'reader of another']

const http = await ServerWithUsers.open()
afterAll(() => http.close())
for (const [user, grants] of Object.entries(people)) http.give(user, grants)
const properties = [{ propId: 1, type: 'UINT8' }]
const updates = [{ serviceIdentifier: 'x', propId: 1, value: 7 }]
await http.call('root', 'POST', '/link', {
  deviceIdentifier: 'A',
  services: [{ serviceIdentifier: 'x', properties }],
  updates,
})
const level = { name: 'level', description: '', type: 'uint8', enum: { 7: { name: 'full' } }, rangeMax: 9 }
const put = await http.call('root', 'PUT', '/schemas/x', {
  name: 'Tank',
  description: '',
  properties: { '0x0001': level },
})
expect(put.status).toBe(200)

const path = '/devices/A/services/x/properties'
const answered = async (user: string, method: string, target: string, body?: unknown) => {
  const { status, json } = await http.call(user, method, target, body)
  return [status, json]
}
const filterByName = (user: string, name: string) => {
  const filter = encodeURIComponent(JSON.stringify({ '>': [{ var: `services.x.${name}` }, 1] }))
  return answered(user, 'GET', `/devices?filter=${filter}`)
}

test('a caller who may read the schema uses its names', async () => {
  expect(await answered('reader', 'GET', `${path}?raw=false`)).toEqual([200, { level: 'full' }])
  expect(await filterByName('reader', 'level')).toEqual([200, [{ deviceIdentifier: 'A' }]])
  expect(await answered('reader', 'PUT', path, { level: 'full' })).toEqual([409, { error: 'DEVICE_OFFLINE' }])
})

describe.each(blind)('%s', (user) => {
  test('sees ids and plain values', async () => {
    expect(await answered(user, 'GET', `${path}?raw=false`)).toEqual([200, { '0x0001.UINT8': 7 }])
    expect(await answered(user, 'GET', '/services/x?raw=false')).toMatchObject([
      200,
      { devices: [{ properties: { '0x0001.UINT8': 7 } }] },
    ])
  })

  test('finds nothing by a name', async () => {
    expect(await filterByName(user, 'level')).toEqual([200, []])
    expect(await filterByName(user, '0x1')).toEqual([200, [{ deviceIdentifier: 'A' }]])
  })

  test('writes by id, within the same limits', async () => {
    expect(await answered(user, 'PUT', path, { level: 1 })).toEqual(
      await answered(user, 'PUT', path, { nothing: 1 }).then(([status]) => [
        status,
        { error: 'there is no property level' },
      ]),
    )
    expect((await answered(user, 'PUT', path, { 1: 'full' }))[0]).toBe(400)
    expect((await answered(user, 'PUT', path, { 1: 9 }))[0]).toBe(400)
    expect(await answered(user, 'PUT', path, { 1: 8 })).toEqual([409, { error: 'DEVICE_OFFLINE' }])
    const action = { devices: ['A'], serviceIdentifier: 'x', updates: { level: 1 } }
    expect((await answered(user, 'POST', '/devices/actions', action))[0]).toBe(404)
  })

  test('creates alarms with ids, and gets the same error for known and unknown names', async () => {
    const alarm = (name: string, serviceIdentifier = 'x') =>
      answered(user, 'POST', '/alarms', {
        name: 'A',
        severity: 'info',
        serviceIdentifier,
        condition: { '>': [{ var: name }, 1] },
      })
    expect((await alarm('0x1'))[0]).toBe(201)
    const refused = await alarm('level')
    expect(refused).toMatchObject([400, { details: [{ path: 'condition.>.0.var' }] }])
    expect(await alarm('nothing')).toEqual(refused)
    expect(await alarm('level', 'unknown')).toEqual(refused)
  })
})
