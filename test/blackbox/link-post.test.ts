import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { type Fields, LinkClient } from '#test/blackbox/link-client'
import { climate, degrees, label, mode, sensor, shownDegrees, temperature } from '#test/blackbox/sensor'
import { StartedServer } from '#test/blackbox/started-server'

/** `POST /link`: the link of devices that speak now and then. Contract 7. */
describe('POST /link', () => {
  let server: StartedServer
  let names = 0
  const newName = () => `POST-${++names}`

  beforeAll(async () => {
    server = await StartedServer.start()
  })
  afterAll(() => server?.finish())

  const post = (body: unknown) => server.ask('/link', { method: 'POST', body })
  const update = (value: unknown, propId = temperature, more: Fields = {}) => ({
    serviceIdentifier: climate,
    propId,
    value,
    ...more,
  })
  const properties = async (device: string) => {
    const { json } = await server.get(`/devices/${device}/services/${climate}/properties`)
    return json as Record<string, Fields>
  }
  const listen = (device: string, types = 'OBJECT_UPDATED') =>
    EventClient.open(server, { offset: 'now', devices: device, types })

  test('first contact declares, is stored when it is answered, and is heard', async () => {
    const device = newName()
    const events = await EventClient.open(server, { offset: 'now', devices: device })
    const answer = await post({
      deviceIdentifier: device.toLowerCase(),
      services: sensor,
      updates: [update(20), update('hall', label), update(21, temperature, { timestamp: 1_000 })],
    })
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect((await properties(device))[temperature]).toEqual({ ...shownDegrees(21), timestamp: 1_000 })
    expect((await properties(device))[label]).toMatchObject({ value: 'hall' })
    await events.caughtUp(server)
    expect(events.events[0]).toMatchObject({ type: 'DEVICE_ADD' })
    expect(events.of('OBJECT_UPDATED').flatMap(({ updates }) => updates)).toMatchObject([
      shownDegrees(20),
      { propId: label, value: 'hall' },
      shownDegrees(21),
    ])
    expect(events.of('META_STATUS_CHANGE')).toMatchObject([{ status: 'online' }])
  })

  test('later it needs no declaration, and a new one replaces the old', async () => {
    const device = newName()
    await post({ deviceIdentifier: device, services: sensor, updates: [update(1), update('a', label)] })
    expect(await post({ deviceIdentifier: device, updates: [update(2)] })).toMatchObject({ status: 204 })
    const fewer = [{ serviceIdentifier: climate, properties: [{ propId: temperature, type: 'FLOAT', value: 3 }] }]
    const events = await listen(device)
    expect(await post({ deviceIdentifier: device, services: fewer, updates: [] })).toMatchObject({ status: 204 })
    expect(await events.caughtUp(server)).toMatchObject([
      { updates: [shownDegrees(3), { tag: 'removed', propId: label }, { tag: 'removed', propId: mode }] },
    ])
    expect(Object.keys(await properties(device))).toEqual([String(temperature)])
  })

  test('nothing but a name is a sign of life', async () => {
    const device = newName()
    expect(await post({ deviceIdentifier: device, updates: [] })).toMatchObject({ status: 204 })
    expect((await server.get(`/meta/${device}`)).json).toMatchObject({ status: 'online' })
  })

  const refused: readonly (readonly [name: string, body: unknown, path: string])[] = [
    ['no name', { deviceIdentifier: undefined }, 'deviceIdentifier'],
    ['a bad name', { deviceIdentifier: 'A/B' }, 'deviceIdentifier'],
    ['no updates', { updates: undefined }, 'updates'],
    ['updates that are none', { updates: 'x' }, 'updates'],
    ['a field nobody knows', { colour: 'green' }, 'colour'],
    ['a field nobody knows in an update', { updates: [update(1, temperature, { colour: 1 })] }, 'updates.0.colour'],
    ['an error in place of a value', { updates: [{ ...update(1), value: undefined, error: 'x' }] }, 'updates.0.value'],
    ['a session too long', { session: 'x'.repeat(37) }, 'session'],
    ['seq 0', { session: 's', seq: 0 }, 'seq'],
    ['seq as text', { session: 's', seq: '1' }, 'seq'],
    ['a service not declared', { updates: [{ ...update(1), serviceIdentifier: 'x' }] }, 'updates.0.serviceIdentifier'],
    ['a property not declared', { updates: [update(1, 9)] }, 'updates.0.propId'],
    ['a bad value', { updates: [update('warm')] }, 'updates.0.value'],
    ['a value that is null', { updates: [update(null)] }, 'updates.0.value'],
    ['one bad value among good ones', { updates: [update(5), update(300, mode), update(6)] }, 'updates.1.value'],
    ['a bad time', { updates: [update(1, temperature, { timestamp: -1 })] }, 'updates.0.timestamp'],
    ['services with a type that is none', { services: [declared('UINT7')] }, 'services.0.properties.0.type'],
    ['a declaration without what is reported', { services: [declared('BOOL')] }, 'updates.0.propId'],
  ]

  test.each(refused)('all or nothing: %s', async (_, changed, path) => {
    const device = newName()
    await post({ deviceIdentifier: device, session: 's', services: sensor, updates: [update(1)] })
    const before = await properties(device)
    const events = await listen(device, 'OBJECT_UPDATED,DEVICE_ADD,DEVICE_DISCOVERY')
    const answer = await post({ deviceIdentifier: device, updates: [update(5)], ...(changed as object) })
    expect(answer.status).toBe(400)
    expect(answer.json).toMatchObject({ error: 'Validation Error', details: expect.any(Array) })
    const { details } = answer.json as { details: { path: string; message: string }[] }
    expect(details.map((detail) => detail.path)).toContain(path)
    expect(details.every(({ message }) => message.length > 0)).toBe(true)
    expect(await properties(device)).toEqual(before)
    expect(await events.caughtUp(server)).toEqual([])
  })

  test('a bad value in a declaration refuses all of it, and makes no device', async () => {
    const device = newName()
    const services = [{ serviceIdentifier: climate, properties: [{ propId: temperature, type: 'FLOAT', value: 'x' }] }]
    expect(await post({ deviceIdentifier: device, services, updates: [] })).toMatchObject({ status: 400 })
    expect((await server.get(`/devices/${device}`)).status).toBe(404)
  })

  test('a bad update of a new device makes no device', async () => {
    const device = newName()
    const events = await listen(device, 'DEVICE_ADD')
    expect(await post({ deviceIdentifier: device, services: sensor, updates: [update('x')] })).toMatchObject({
      status: 400,
    })
    expect((await server.get(`/devices/${device}`)).status).toBe(404)
    expect(await events.caughtUp(server)).toEqual([])
  })

  test('an unknown device has to say what it offers', async () => {
    const device = newName()
    const answer = await post({ deviceIdentifier: device, updates: [update(1)] })
    expect(answer.status).toBe(400)
    expect(answer.json).toMatchObject({ details: [{ path: 'services' }] })
    expect((await server.get(`/devices/${device}`)).status).toBe(404)
  })

  test('said twice with session and number it is applied once', async () => {
    const device = newName()
    const events = await listen(device)
    const say = (session: string, seq: number, value: number) =>
      post({ deviceIdentifier: device, session, seq, services: sensor, updates: [update(value)] })
    for (const [session, seq, value] of [
      ['a', 1, 1],
      ['a', 1, 99],
      ['a', 3, 2],
      ['a', 2, 99],
      ['b', 1, 3],
      ['b', 1, 99],
    ] as const) {
      expect(await say(session, seq, value)).toMatchObject({ status: 204 })
    }
    const heard = await events.caughtUp(server)
    expect(heard).toMatchObject([1, 2, 3].map((value) => ({ updates: [shownDegrees(value)] })))
  })

  test('without a number it is applied each time', async () => {
    const device = newName()
    await post({ deviceIdentifier: device, services: sensor, updates: [] })
    const events = await listen(device)
    for (let count = 0; count < 3; count++) await post({ deviceIdentifier: device, session: 'a', updates: [update(1)] })
    for (let count = 0; count < 3; count++) await post({ deviceIdentifier: device, seq: 1, updates: [update(2)] })
    expect(await events.caughtUp(server)).toHaveLength(6)
  })

  test('a new session begun without a number takes nothing over from the one before', async () => {
    const device = newName()
    const say = (session: string, seq: number | undefined, value: number) =>
      post({ deviceIdentifier: device, session, seq, services: sensor, updates: [update(value)] })
    await say('a', 10, 1)
    await say('b', undefined, 2)
    await say('b', 1, 3)
    expect((await properties(device))[temperature]).toMatchObject({ value: 3 })
  })

  test('one numbering for both ways in', async () => {
    const device = newName()
    const link = await LinkClient.open(server, 'json')
    const { flakeAddress } = await link.hello(device, sensor, { session: 'a' })
    await link.report(flakeAddress, 1, climate, [degrees(1)], [degrees(2)])
    const events = await listen(device)
    await post({ deviceIdentifier: device, session: 'a', seq: 2, updates: [update(99)] })
    await post({ deviceIdentifier: device, session: 'a', seq: 3, updates: [update(3)] })
    await link.report(flakeAddress, 4, climate, [degrees(4)])
    expect((await link.hello(device, sensor, { session: 'a' })).seq).toBe(4)
    expect(await events.caughtUp(server)).toMatchObject([
      { updates: [shownDegrees(3)] },
      { updates: [shownDegrees(4)] },
    ])
    await link.close()
  })

  test.each([
    ['no JSON', '{', {}, 400],
    ['no body', undefined, {}, 400],
    ['another type', 'x', { 'content-type': 'text/plain' }, 415],
    ['too large', JSON.stringify({ padding: 'x'.repeat(1024 * 1024) }), {}, 413],
    ['a key __proto__', '{"deviceIdentifier":"P","updates":[],"__proto__":{}}', {}, 400],
  ] as const)('a body that is none: %s', async (_, body, headers, status) => {
    const answer = await server.ask('/link', { method: 'POST', body, headers })
    expect(answer.status).toBe(status)
    expect(answer.json).toMatchObject({ error: expect.any(String) })
  })
})

function declared(type: string) {
  return { serviceIdentifier: climate, properties: [{ propId: 5, type }] }
}
