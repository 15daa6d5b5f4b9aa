import { expect, test } from 'vitest'
import type { Fields } from '#test/blackbox/link-client'
import type { LinkGround } from '#test/blackbox/link-ground'
import { climate, degrees, label, mode, noModifier, sensor, shownDegrees, temperature } from '#test/blackbox/sensor'

/** HELLO says what a device is and offers, and replaces what it said before. Contract 4.6, 7. */
export function declarationSuite(ground: LinkGround): void {
  const service = (...properties: Fields[]) => [{ serviceIdentifier: climate, properties }]
  const float = (value?: number) => ({ propId: temperature, type: 'FLOAT', ...(value !== undefined && { value }) })
  const text = (value?: string) => ({ propId: label, type: 'STRING', ...(value !== undefined && { value }) })

  test('the first HELLO is heard as DEVICE_ADD, then its values, its status, and what it is', async () => {
    const events = await ground.events()
    const firmwares = [
      { firmware: '1.4.2', hardware: 'rev-b', index: 0 },
      { firmware: '2.0.0-rc.1', index: 3 },
    ]
    const { device, address } = await ground.sensor({
      services: service(float(20), text('hall')),
      hello: { project: 'boiler', firmwares },
    })
    await events.caughtUp(ground.server)
    const heard = events.ofDevice(device)
    expect(heard[0]).toMatchObject({ type: 'DEVICE_ADD' })
    expect(heard.map(({ type }) => type).sort()).toEqual([
      'DEVICE_ADD',
      'DEVICE_DISCOVERY',
      'META_STATUS_CHANGE',
      'OBJECT_UPDATED',
    ])
    const readOnly = { ...noModifier, isReadOnly: true }
    const item = (propId: number, value: string) => ({
      tag: 'value',
      modifier: readOnly,
      propId,
      type: 'STRING',
      value,
    })
    expect(events.of('DEVICE_DISCOVERY').filter(({ flakeAddress }) => flakeAddress === address)).toMatchObject([
      {
        deviceIdentifier: device,
        updates: [item(0, device), item(1, 'boiler'), item(16, '1.4.2'), item(17, 'rev-b'), item(64, '2.0.0-rc.1')],
      },
    ])
    expect(heard.find(({ type }) => type === 'META_STATUS_CHANGE')).toMatchObject({ status: 'online', numConnects: 1 })
  })

  test('a discovery after every HELLO with firmwares, or while none is known', async () => {
    const { link, device } = await ground.sensor()
    const events = await ground.eventsOf(device, 'DEVICE_DISCOVERY')
    const firmwares = [{ firmware: '1.0.0', index: 0 }]
    await link.hello(device, sensor)
    await link.hello(device, sensor, { firmwares })
    await link.hello(device, sensor, { firmwares })
    // Known by now, and nothing new.
    await link.hello(device, sensor)
    expect(await events.caughtUp(ground.server)).toHaveLength(3)
  })

  test('its values are heard once, where they differ', async () => {
    const { link, device } = await ground.sensor({ services: service(float(1), text('a')) })
    const events = await ground.eventsOf(device)
    await link.hello(device, service(float(1), text('a')))
    await link.hello(device, service(float(2), text('a')))
    await link.hello(device, service(text('a'), float(2)))
    // Without a value what was reported stands.
    await link.hello(device, service(float(), text()))
    expect(await events.caughtUp(ground.server)).toMatchObject([{ updates: [shownDegrees(2)] }])
    expect(events.events[0]).toHaveProperty('updates.length', 1)
    expect((await ground.properties(device, climate))[temperature]).toMatchObject({ value: 2 })
  })

  test('a value of HELLO ends an error', async () => {
    const { link, device, address } = await ground.sensor({ services: service(float(1)) })
    await link.report(address, 1, climate, [{ propId: temperature, error: 'broken' }])
    const events = await ground.eventsOf(device)
    await link.hello(device, service(float()))
    expect((await ground.properties(device, climate))[temperature]).toMatchObject({ tag: 'error', error: 'broken' })
    await link.hello(device, service(float(1)))
    expect(await events.caughtUp(ground.server)).toMatchObject([{ updates: [shownDegrees(1)] }])
  })

  test('what is declared no more is removed, and said once', async () => {
    const { link, device, address } = await ground.sensor({ services: service(float(1), text('a')) })
    const events = await ground.eventsOf(device)
    for (let count = 0; count < 2; count++) await link.hello(device, service(float(1)), { session: 'boot-1' })
    const removed = { tag: 'removed', modifier: noModifier, propId: label, type: 'STRING' }
    expect(await events.caughtUp(ground.server)).toMatchObject([{ updates: [removed] }])
    expect(Object.keys(await ground.properties(device, climate))).toEqual([String(temperature)])
    const updates = [{ propId: label, value: 'b' }]
    link.send({ type: 'UPDATE', flakeAddress: address, seq: 1, serviceIdentifier: climate, updates })
    await link.take({ type: 'ERROR', code: 'UNKNOWN_PROPERTY', seq: 1 })
    // Declared again it has no value: the one before is gone.
    await link.hello(device, service(float(1), text()))
    expect((await ground.properties(device, climate))[label]).not.toHaveProperty('value')
  })

  test('a service that is declared no more is removed with all it had, in both trees', async () => {
    const other = {
      serviceIdentifier: `other-${ground.newName()}`,
      properties: [{ propId: 1, type: 'BOOL', value: true }],
    }
    const { link, device, address } = await ground.sensor({ services: [...service(float(1)), other] })
    const events = await ground.eventsOf(device)
    await link.hello(device, service(float(1)), { session: 'boot-1' })
    expect(await events.caughtUp(ground.server)).toMatchObject([
      { serviceIdentifier: other.serviceIdentifier, updates: [{ tag: 'removed', propId: 1, type: 'BOOL' }] },
    ])
    expect((await ground.server.get(`/services/${other.serviceIdentifier}`)).status).toBe(404)
    expect((await ground.server.get(`/devices/${device}/services/${other.serviceIdentifier}`)).status).toBe(404)
    expect((await ground.server.get(`/devices/${device}?depth=1`)).json).toEqual({
      deviceIdentifier: device,
      services: [{ serviceIdentifier: climate }],
    })
    const update = { serviceIdentifier: other.serviceIdentifier, updates: [{ propId: 1, value: false }] }
    link.send({ type: 'UPDATE', flakeAddress: address, seq: 1, ...update })
    await link.take({ type: 'ERROR', code: 'UNKNOWN_SERVICE', seq: 1 })
  })

  test('another type takes the value away, unless a new one comes along', async () => {
    const { link, device, address } = await ground.sensor({ services: service(float(1), text('a')) })
    const events = await ground.eventsOf(device)
    const asNumber = { propId: label, type: 'UINT16' }
    await link.hello(device, service({ ...float(), type: 'FLOAT64' }, { ...asNumber, value: 5 }), { session: 'boot-1' })
    expect(await events.caughtUp(ground.server)).toHaveLength(1)
    const { updates } = events.of('OBJECT_UPDATED')[0] ?? { updates: [] }
    expect(updates.find(({ propId }) => propId === label)).toMatchObject({ tag: 'value', type: 'UINT16', value: 5 })
    expect(updates.find(({ propId }) => propId === temperature)).toMatchObject({ tag: 'removed' })
    const shown = await ground.properties(device, climate)
    expect(shown[temperature]).toEqual({ ...shownDegrees(0), type: 'FLOAT64', value: undefined })
    expect(shown[label]).toMatchObject({ type: 'UINT16', value: 5 })
    link.send(['U', address, 1, 0, [label, 'text']])
    await link.take({ type: 'ERROR', code: 'BAD_VALUE', seq: 1 })
  })

  test('modifiers are shown as declared, missing ones false', async () => {
    const flags = { isReadOnly: true, isVolatile: true }
    const { device } = await ground.sensor({
      services: service(
        { ...float(1), modifier: flags },
        { propId: mode, type: 'UINT8-ARRAY', modifier: { isArray: false } },
      ),
    })
    const shown = await ground.properties(device, climate)
    expect(shown[temperature]?.modifier).toEqual({ ...noModifier, ...flags })
    expect(shown[mode]?.modifier).toEqual({ ...noModifier, isArray: true })
  })

  test('the place in HELLO names the service in short frames, of the newest HELLO', async () => {
    const two = (...names: string[]) =>
      names.map((serviceIdentifier) => ({ serviceIdentifier, properties: [{ propId: 1, type: 'UINT8' }] }))
    const { link, device, address } = await ground.sensor({ services: two('first', 'second') })
    link.send(['U', address, 1, 1, [1, 10]])
    await link.take(['A', address, 1])
    await link.hello(device, two('second', 'first'), { session: 'boot-1' })
    link.send(['U', address, 2, 1, [1, 20]])
    await link.take(['A', address, 2])
    expect((await ground.properties(device, 'second'))[1]).toMatchObject({ value: 10 })
    expect((await ground.properties(device, 'first'))[1]).toMatchObject({ value: 20 })
  })

  test('service identifiers that are UUIDs may be written in upper case', async () => {
    const uuid = '7F1D3A52-0B6C-4F0E-9A55-2B8F5F1C9D01'
    const { link, device, address } = await ground.sensor({
      services: [{ serviceIdentifier: uuid, properties: [float()] }],
    })
    await link.report(address, 1, uuid, [degrees(1)])
    await link.report(address, 2, uuid.toLowerCase(), [degrees(2)])
    expect((await ground.server.get(`/devices/${device}?depth=1`)).json).toMatchObject({
      services: [{ serviceIdentifier: uuid.toLowerCase() }],
    })
    expect((await ground.properties(device, uuid))[temperature]).toMatchObject({ value: 2 })
  })

  test('a HELLO that is refused changes nothing', async () => {
    const { link, device, address } = await ground.sensor({ services: service(float(1)) })
    const events = await ground.events()
    const stranger = ground.newName()
    for (const deviceIdentifier of [device, stranger]) {
      link.send({ type: 'HELLO', deviceIdentifier, services: service(text('a'), { ...float(), value: 'warm' }) })
      await link.take({ type: 'ERROR', code: 'BAD_VALUE' })
    }
    await link.report(address, 1, climate, [degrees(2)])
    await events.caughtUp(ground.server)
    expect(events.ofDevice(device)).toMatchObject([{ updates: [shownDegrees(2)] }])
    expect(events.ofDevice(stranger)).toEqual([])
    expect((await ground.server.get(`/devices/${stranger}`)).status).toBe(404)
  })
}
