import { expect, test } from 'vitest'
import { encode, LinkClient } from '#test/blackbox/link-client'
import type { LinkGround } from '#test/blackbox/link-ground'
import { climate, degrees, sensor, shownDegrees, temperature } from '#test/blackbox/sensor'
import { WebsocketClient } from '#test/blackbox/websocket-client'

const frameBytesMax = 256 * 1024

/** What is too much, and what it costs. Contract 7. */
export function limitSuite(ground: LinkGround): void {
  const bad = { type: 'NONSENSE' }

  test('ten frames in a row refused for their content close the link', async () => {
    const { link, device } = await ground.sensor()
    link.send(...Array(9).fill(bad))
    for (let count = 0; count < 9; count++) await link.take({ type: 'ERROR', code: 'BAD_MESSAGE' })
    expect(link.closing).toBeUndefined()
    link.send(bad)
    expect((await link.closed()).code).toBe(4400)
    expect((await ground.server.get(`/devices/${device}`)).status).toBe(200)
  })

  test('frames behind the tenth are not looked at any more', async () => {
    const { link, device, address } = await ground.sensor()
    link.send(...Array(10).fill(bad), ['U', address, 1, 0, [temperature, 5]])
    expect((await link.closed()).code).toBe(4400)
    const { seq } = await (await ground.link()).hello(device, sensor, { session: 'boot-1' })
    const { value } = (await ground.properties(device, climate))[temperature] ?? {}
    // Stored and known to be, or neither.
    expect([seq, value]).toEqual(seq === 0 ? [0, undefined] : [1, 5])
  })

  test.each([
    ['an UPDATE', 'update'],
    ['a HELLO', 'hello'],
  ])('a good frame between them begins the count anew: %s', async (_, kind) => {
    const { link, device, address } = await ground.sensor()
    for (let seq = 1; seq <= 3; seq++) {
      link.send(...Array(9).fill(bad))
      for (let count = 0; count < 9; count++) await link.take({ type: 'ERROR' })
      if (kind === 'update') await link.report(address, seq, climate, [degrees(seq)])
      else await link.hello(device, sensor, { session: 'boot-1' })
    }
    await link.hello(device, sensor, { session: 'boot-1' })
    expect(link.closing).toBeUndefined()
  })

  test('more than the window unacknowledged: OVERLOADED, 1013, and going on from WELCOME.seq loses nothing', async () => {
    const { link, device, address } = await ground.sensor()
    const events = await ground.eventsOf(device)
    const count = 20_000
    const frame = (seq: number) => encode(ground.protocol, ['U', address, seq, 0, [temperature, seq]])
    link.sendRaw(...Array.from({ length: count }, (_, index) => frame(index + 1)))
    expect((await link.closed()).code).toBe(1013)
    expect(link.waiting.filter((waiting) => !Array.isArray(waiting))).toMatchObject([
      { type: 'ERROR', code: 'OVERLOADED' },
    ])
    const again = await ground.link()
    const { seq } = await again.hello(device, sensor, { session: 'boot-1' })
    expect(seq).toBeLessThan(count)
    for (const waiting of link.waiting) if (Array.isArray(waiting)) expect(waiting[2]).toBeLessThanOrEqual(seq)
    for (let at = seq + 1; at <= seq + 500; at++) again.send(['U', address, at, 0, [temperature, at]])
    await again.take(['A', address, seq + 500])
    const heard = await events.caughtUp(ground.server)
    expect(heard.map((event) => (event.type === 'OBJECT_UPDATED' ? event.updates[0]?.value : 0))).toEqual(
      Array.from({ length: seq + 500 }, (_, index) => index + 1),
    )
  })

  test('a whole window unacknowledged is fine', async () => {
    const { link, device, address, welcome } = await ground.sensor()
    link.send(
      ...Array.from({ length: welcome.window }, (_, index) => ['U', address, index + 1, 0, [temperature, index]]),
    )
    for (let seq = 0; seq < welcome.window; ) seq = ((await link.take(['A', address])) as unknown as number[])[2] ?? 0
    expect(link.closing).toBeUndefined()
    expect((await ground.properties(device, climate))[temperature]).toMatchObject({ value: welcome.window - 1 })
  })

  test('a frame may have 256 KiB and not a byte more', async () => {
    const { link, device, address } = await ground.sensor()
    const padded = (seq: number, bytes: number) => {
      const update = { type: 'UPDATE', flakeAddress: address, seq, serviceIdentifier: climate, updates: [degrees(seq)] }
      const long = 'x'.repeat(100_000)
      const spare = encode(ground.protocol, { ...update, padding: long }).length - long.length
      return encode(ground.protocol, { ...update, padding: 'x'.repeat(bytes - spare) })
    }
    const exact = padded(1, frameBytesMax)
    expect(exact.length).toBe(frameBytesMax)
    link.sendRaw(exact)
    await link.acknowledged(address, 1)
    link.sendRaw(padded(2, frameBytesMax + 1))
    await link.closed()
    expect((await ground.properties(device, climate))[temperature]).toMatchObject(shownDegrees(1))
    await (await ground.link()).hello(device, sensor)
  })

  test('a text frame that is no UTF-8 costs its link, and nobody else anything', async () => {
    const { device, address, link } = await ground.sensor()
    const other = await ground.sensor()
    link.socket.send(Buffer.from([0x22, 0xff, 0xfe, 0x22]), { binary: false })
    await link.closed()
    await other.link.report(other.address, 1, climate, [degrees(1)])
    const again = await ground.link()
    expect(await again.hello(device, sensor, { session: 'boot-1' })).toMatchObject({ flakeAddress: address, seq: 0 })
  })

  test.each([
    ['none', []],
    ['another', ['mqtt']],
    ['one of another version', ['link.v2.json', 'link.v2.msgpack']],
    ['one in upper case', ['LINK.V1.JSON']],
  ])('a subprotocol that is not spoken here: %s', async (_, protocols) => {
    const client = new WebsocketClient(`${ground.server.ws}/link`, protocols)
    expect(await client.refused()).toBe(400)
  })

  test('of several subprotocols the known one is taken', async () => {
    const link = new LinkClient(ground.server, ground.protocol, ['mqtt', `link.v1.${ground.protocol}`])
    await link.opened()
    expect(link.socket.protocol).toBe(`link.v1.${ground.protocol}`)
    await link.hello(ground.newName(), sensor)
    link.cut()
  })

  test('limits of a declaration', async () => {
    const property = (propId: number) => ({ propId, type: 'UINT8' })
    const many = (count: number) => Array.from({ length: count }, (_, propId) => property(propId))
    const services = (count: number, propertyCount = 1) =>
      Array.from({ length: count }, (_, index) => ({ serviceIdentifier: `s${index}`, properties: many(propertyCount) }))
    const link = await ground.link()
    const device = ground.newName()
    await link.hello(device, services(64))
    await link.hello(device, services(1, 1024))
    for (const tooMuch of [services(65), services(1, 1025)]) {
      link.send({ type: 'HELLO', deviceIdentifier: device, services: tooMuch })
      await link.take({ type: 'ERROR', code: 'BAD_MESSAGE' })
    }
    const { flakeAddress } = await link.hello(device, services(1, 1024))
    await link.report(
      flakeAddress,
      1,
      's0',
      many(1024).map(({ propId }) => ({ propId, value: propId % 256 })),
    )
    expect(Object.keys(await ground.properties(device, 's0'))).toHaveLength(1024)
  })
}
