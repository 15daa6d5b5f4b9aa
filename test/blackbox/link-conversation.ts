import { expect, test } from 'vitest'
import type { LinkGround } from '#test/blackbox/link-ground'
import { climate, degrees, mode, noModifier, sensor, shownDegrees, temperature } from '#test/blackbox/sensor'
import { until } from '#test/blackbox/until'

const dayMs = 24 * 60 * 60_000

/** HELLO, UPDATE, ACK, BYE: what is said when all goes well. */
export function conversationSuite(ground: LinkGround): void {
  test('HELLO is answered with WELCOME, the identifier in upper case', async () => {
    const link = await ground.link()
    const name = ground.newName()
    const before = Date.now()
    const welcome = await link.hello(name.toLowerCase(), sensor, { session: 'a' })
    expect(welcome).toEqual({
      type: 'WELCOME',
      deviceIdentifier: name,
      flakeAddress: expect.any(Number),
      seq: 0,
      window: 1024,
      timestamp: expect.any(Number),
    })
    expect(welcome.flakeAddress).toBeGreaterThanOrEqual(1)
    expect(Number.isInteger(welcome.flakeAddress)).toBe(true)
    expect(Math.abs(welcome.timestamp - before)).toBeLessThan(60_000)
    const again = await link.hello(name, sensor, { session: 'a' })
    expect(again.flakeAddress).toBe(welcome.flakeAddress)
    expect((await ground.server.get(`/devices/${name}`)).json).toMatchObject({ deviceIdentifier: name })
  })

  test('an UPDATE is acknowledged, heard and read', async () => {
    const { link, device, address } = await ground.sensor()
    const events = await ground.eventsOf(device)
    await link.report(address, 1, climate, [degrees(21.5), { propId: mode, value: 3 }])
    const heard = await events.caughtUp(ground.server)
    const shownMode = { propId: mode, type: 'UINT8', value: 3 }
    expect(heard).toEqual([
      {
        type: 'OBJECT_UPDATED',
        timestamp: expect.any(Number),
        offset: expect.any(Number),
        flakeAddress: address,
        deviceIdentifier: device,
        serviceIdentifier: climate,
        updates: [shownDegrees(21.5), expect.objectContaining({ ...shownMode, modifier: expect.anything() })],
      },
    ])
    const properties = await ground.properties(device, climate)
    const { timestamp } = heard[0] ?? {}
    expect(properties[temperature]).toEqual({ ...shownDegrees(21.5), timestamp })
    expect(properties[mode]).toMatchObject({ ...shownMode, timestamp, modifier: { isReadOnly: true } })
  })

  test('the short form says the same, and is acknowledged in the short form', async () => {
    const { link, device, address } = await ground.sensor()
    const events = await ground.eventsOf(device)
    link.send(['U', address, 1, 0, [temperature, 20, mode, 1]])
    await link.take(['A', address, 1])
    link.send(['U', address, 2, 0, [temperature, 20.5], 1_700_000_000_000])
    await link.take(['A', address, 2])
    const heard = await events.caughtUp(ground.server)
    expect(heard).toMatchObject([
      { updates: [shownDegrees(20), { propId: mode, value: 1 }] },
      { updates: [shownDegrees(20.5)], timestamp: 1_700_000_000_000 },
    ])
    expect(link.waiting).toEqual([])
  })

  test('one UPDATE is one event, its items in its order, one property twice if it says so', async () => {
    const { link, device, address } = await ground.sensor()
    const events = await ground.eventsOf(device)
    const updates = [{ propId: mode, value: 2 }, degrees(1), { propId: mode, value: 3 }, degrees(2)]
    await link.report(address, 1, climate, updates)
    const [event, ...others] = await events.caughtUp(ground.server)
    expect(others).toEqual([])
    expect(event).toMatchObject({ updates })
    expect((await ground.properties(device, climate))[mode]).toMatchObject({ value: 3 })
  })

  test('the same value again is heard again', async () => {
    const { link, device, address } = await ground.sensor()
    const events = await ground.eventsOf(device)
    await link.report(address, 1, climate, [degrees(5)], [degrees(5)], [degrees(5)])
    const heard = await events.caughtUp(ground.server)
    expect(heard).toMatchObject(Array(3).fill({ updates: [shownDegrees(5)] }))
  })

  test.each(['long', 'short'])('an error in place of a value, %s form', async (form) => {
    const { link, device, address } = await ground.sensor()
    const events = await ground.eventsOf(device)
    await link.report(address, 1, climate, [degrees(5)])
    if (form === 'long') await link.report(address, 2, climate, [{ propId: temperature, error: 'sensor broken "×"' }])
    else {
      link.send(['U', address, 2, 0, [temperature, { e: 'sensor broken "×"' }]])
      await link.take(['A', address, 2])
    }
    const { value, ...shown } = shownDegrees(5)
    const broken = {
      ...shown,
      tag: 'error',
      modifier: { ...noModifier, isError: true },
      error: 'sensor broken "×"',
    }
    expect((await events.caughtUp(ground.server))[1]).toMatchObject({ updates: [broken] })
    const properties = await ground.properties(device, climate)
    expect(properties[temperature]).toEqual({ ...broken, timestamp: expect.any(Number) })
    // And it is mended by the next value.
    await link.report(address, 3, climate, [degrees(6)])
    expect((await ground.properties(device, climate))[temperature]).toEqual({
      ...shownDegrees(6),
      timestamp: expect.any(Number),
    })
  })

  test('a number not above the last stored one is acknowledged and not applied again', async () => {
    const { link, device, address } = await ground.sensor()
    const events = await ground.eventsOf(device)
    await link.report(address, 1, climate, [degrees(1)], [degrees(2)], [degrees(3)])
    for (const seq of [3, 2, 1]) {
      link.send({ type: 'UPDATE', flakeAddress: address, seq, serviceIdentifier: climate, updates: [degrees(99)] })
      await link.take({ type: 'ACK', flakeAddress: address, seq: 3 })
    }
    await link.report(address, 4, climate, [degrees(4)])
    const heard = await events.caughtUp(ground.server)
    expect(heard).toMatchObject([1, 2, 3, 4].map((value) => ({ updates: [shownDegrees(value)] })))
  })

  test('a gap in the numbers is accepted', async () => {
    const { link, device, address } = await ground.sensor()
    const events = await ground.eventsOf(device)
    await link.report(address, 1, climate, [degrees(1)])
    await link.report(address, 1_000_000, climate, [degrees(2)])
    await link.report(address, Number.MAX_SAFE_INTEGER, climate, [degrees(3)])
    expect(await events.caughtUp(ground.server)).toHaveLength(3)
    const welcome = await (await ground.link()).hello(device, sensor, { session: 'boot-1' })
    expect(welcome.seq).toBe(Number.MAX_SAFE_INTEGER)
  })

  test('numbering goes on within a session and begins anew with another', async () => {
    const { link, device, address } = await ground.sensor()
    const events = await ground.eventsOf(device)
    await link.report(address, 1, climate, [degrees(1)], [degrees(2)])
    const second = await ground.link()
    expect((await second.hello(device, sensor, { session: 'boot-1' })).seq).toBe(2)
    await second.report(address, 3, climate, [degrees(3)])
    const third = await ground.link()
    expect((await third.hello(device, sensor, { session: 'boot-2' })).seq).toBe(0)
    await third.report(address, 1, climate, [degrees(4)])
    expect((await third.hello(device, sensor, { session: 'boot-2' })).seq).toBe(1)
    const heard = await events.caughtUp(ground.server)
    expect(heard).toMatchObject([1, 2, 3, 4].map((value) => ({ updates: [shownDegrees(value)] })))
  })

  test('a session that said HELLO and nothing else has not begun: the one before goes on', async () => {
    const { link, device, address } = await ground.sensor()
    await link.report(address, 1, climate, [degrees(1)], [degrees(2)])
    expect((await link.hello(device, sensor, { session: 'boot-2' })).seq).toBe(0)
    expect((await link.hello(device, sensor, { session: 'boot-1' })).seq).toBe(2)
  })

  test('without a session every HELLO begins anew', async () => {
    const link = await ground.link()
    const device = ground.newName()
    const { flakeAddress } = await link.hello(device, sensor)
    const events = await ground.eventsOf(device)
    await link.report(flakeAddress, 1, climate, [degrees(1)])
    expect((await link.hello(device, sensor)).seq).toBe(0)
    await link.report(flakeAddress, 1, climate, [degrees(2)])
    expect(await events.caughtUp(ground.server)).toHaveLength(2)
  })

  test('several devices on one link, each with its own numbers', async () => {
    const link = await ground.link()
    const sensors = [await ground.sensor({ link }), await ground.sensor({ link }), await ground.sensor({ link })]
    expect(new Set(sensors.map(({ address }) => address)).size).toBe(3)
    const events = await ground.events()
    for (let seq = 1; seq <= 3; seq++) {
      link.send(
        ...sensors.map(({ address }, index) => ({
          type: 'UPDATE',
          flakeAddress: address,
          seq,
          serviceIdentifier: climate,
          updates: [degrees(10 * index + seq)],
        })),
      )
    }
    for (const { address } of sensors) await link.acknowledged(address, 3)
    await events.caughtUp(ground.server)
    sensors.forEach(({ device }, index) => {
      const heard = events.ofDevice(device).filter(({ type }) => type === 'OBJECT_UPDATED')
      expect(heard).toMatchObject([1, 2, 3].map((seq) => ({ updates: [shownDegrees(10 * index + seq)] })))
    })
  })

  test.each([
    ['long ago', () => 1_000, true],
    ['a moment ago', () => Date.now() - 5_000, true],
    ['soon', () => Date.now() + dayMs - 60_000, true],
    ['more than a day ahead', () => Date.now() + dayMs + 60_000, false],
    ['the last instant of all', () => 8_640_000_000_000_000, false],
  ])('the time of a device, %s', async (_, timeOf, isBelieved) => {
    const { link, device, address } = await ground.sensor()
    const events = await ground.eventsOf(device)
    const time = timeOf()
    // Both integer forms that msgpack has for it.
    const forms = ground.protocol === 'msgpack' ? [time, BigInt(time)] : [time]
    for (const [index, timestamp] of forms.entries()) {
      const update = { serviceIdentifier: climate, updates: [degrees(1)], timestamp }
      link.send({ type: 'UPDATE', flakeAddress: address, seq: index + 1, ...update })
      await link.acknowledged(address, index + 1)
    }
    const arrived = Date.now()
    for (const event of await events.caughtUp(ground.server)) {
      if (isBelieved) expect(event.timestamp).toBe(time)
      else expect(Math.abs(event.timestamp - arrived)).toBeLessThan(60_000)
    }
    expect(events.events).toHaveLength(forms.length)
  })

  test('arrival decides the value, not the time the device gives', async () => {
    const { link, device, address } = await ground.sensor()
    const send = (seq: number, value: number, timestamp: number) => {
      const update = { serviceIdentifier: climate, updates: [degrees(value)], timestamp }
      link.send({ type: 'UPDATE', flakeAddress: address, seq, ...update })
    }
    send(1, 1, 2_000_000)
    send(2, 2, 1_000_000)
    await link.acknowledged(address, 2)
    const properties = await ground.properties(device, climate)
    expect(properties[temperature]).toMatchObject({ value: 2, timestamp: 1_000_000 })
  })

  test('a device that says BYE is offline, and its address means nothing here any more; the others stay', async () => {
    const link = await ground.link()
    const leaving = await ground.sensor({ link })
    const staying = await ground.sensor({ link })
    const events = await ground.events({ offset: 'now', types: 'META_STATUS_CHANGE' })
    link.send({ type: 'BYE', flakeAddress: leaving.address })
    link.send({
      type: 'UPDATE',
      flakeAddress: leaving.address,
      seq: 1,
      serviceIdentifier: climate,
      updates: [degrees(1)],
    })
    expect(await link.take({ type: 'ERROR' })).toMatchObject({
      code: 'UNKNOWN_DEVICE',
      flakeAddress: leaving.address,
      seq: 1,
    })
    await link.report(staying.address, 1, climate, [degrees(2)])
    const statusOf = async (device: string) => (await ground.server.get(`/meta/${device}`)).json
    expect(await statusOf(staying.device)).toMatchObject({ status: 'online' })
    await until(() => events.events.length > 0, 'the device that left to be offline')
    expect(await statusOf(leaving.device)).toMatchObject({ status: 'offline' })
    expect(await events.caughtUp(ground.server)).toMatchObject([
      { deviceIdentifier: leaving.device, status: 'offline' },
    ])
  })

  test('fields that are not known yet are no mistake, nor is an answer nobody waits for', async () => {
    const { link, device, address } = await ground.sensor({ hello: { colour: 'green' } })
    link.send({ type: 'RESULT', flakeAddress: address, id: 'nobody-asked', results: [] })
    link.send({ type: 'FIRMWARE_STATUS', flakeAddress: address, id: 'nobody-asked', status: 'STARTED' })
    link.send({
      type: 'UPDATE',
      flakeAddress: address,
      seq: 1,
      serviceIdentifier: climate,
      updates: [{ ...degrees(7), colour: 'green' }],
      mood: 'fine',
    })
    await link.acknowledged(address, 1)
    expect(link.waiting).toEqual([])
    expect((await ground.properties(device, climate))[temperature]).toMatchObject({ value: 7 })
  })
}
