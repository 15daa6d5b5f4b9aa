import { expect, test } from 'vitest'
import type { LinkGround } from '#test/blackbox/link-ground'
import { climate, degrees, sensor, shownDegrees } from '#test/blackbox/sensor'
import { until } from '#test/blackbox/until'

/** Take-overs a minute that a device may have. Contract 7. */
const takeOversMax = 10

export function takeOverSuite(ground: LinkGround): void {
  test('a HELLO on a new link wins: the old one is told, its frames are ignored, nobody hears of an offline', async () => {
    const old = await ground.link()
    const moving = await ground.sensor({ link: old })
    const staying = await ground.sensor({ link: old })
    await old.report(moving.address, 1, climate, [degrees(1)])
    const events = await ground.events()

    const newer = await ground.link()
    const welcome = await newer.hello(moving.device, sensor, { session: 'boot-1' })
    expect(welcome).toMatchObject({ flakeAddress: moving.address, seq: 1 })
    expect(await old.take({ type: 'ERROR' })).toMatchObject({ code: 'REPLACED', flakeAddress: moving.address })

    // More than would close a link that sends what it should not.
    for (let seq = 2; seq < 30; seq++) {
      const update = { serviceIdentifier: climate, updates: [degrees(99)] }
      old.send({ type: 'UPDATE', flakeAddress: moving.address, seq, ...update })
    }
    await old.report(staying.address, 1, climate, [degrees(7)])
    expect(old.waiting).toEqual([])
    await newer.report(moving.address, 2, climate, [degrees(2)])
    // What the old link says about the device now is not about it.
    old.send({ type: 'BYE', flakeAddress: moving.address })
    await old.report(staying.address, 2, climate, [degrees(8)])
    await old.close()
    await until(async () => {
      const { json } = await ground.server.get(`/meta/${staying.device}`)
      return (json as { status: string }).status === 'offline'
    }, 'the device that stayed to be offline')
    expect((await ground.server.get(`/meta/${moving.device}`)).json).toMatchObject({ status: 'online' })

    await events.caughtUp(ground.server)
    expect(events.ofDevice(moving.device).filter(({ type }) => type === 'META_STATUS_CHANGE')).toEqual([])
    expect(events.ofDevice(moving.device).filter(({ type }) => type === 'OBJECT_UPDATED')).toMatchObject([
      { updates: [shownDegrees(2)] },
    ])
  })

  test('a HELLO again on the same link is no take-over', async () => {
    const { link, device } = await ground.sensor()
    for (let count = 0; count < 2 * takeOversMax; count++) await link.hello(device, sensor)
    expect(link.waiting).toEqual([])
  })

  test('a link may take its device back', async () => {
    const { link, device, address } = await ground.sensor()
    const other = await ground.link()
    await other.hello(device, sensor, { session: 'boot-1' })
    await link.take({ type: 'ERROR', code: 'REPLACED' })
    await link.hello(device, sensor, { session: 'boot-1' })
    await other.take({ type: 'ERROR', code: 'REPLACED' })
    await link.report(address, 1, climate, [degrees(1)])
  })

  test('two links that fight for one device: after ten take-overs the newcomer is refused', async () => {
    const links = [await ground.link(), await ground.link()] as const
    const device = ground.newName()
    let { flakeAddress } = await links[0].hello(device, sensor)
    for (let count = 1; count <= takeOversMax; count++) {
      const [holder, newcomer] = count % 2 === 1 ? links : [links[1], links[0]]
      flakeAddress = (await newcomer.hello(device, sensor)).flakeAddress
      await holder.take({ type: 'ERROR', code: 'REPLACED' })
    }
    const [holder, newcomer] = links
    const bystander = await ground.sensor({ link: newcomer })
    newcomer.send({ type: 'HELLO', deviceIdentifier: device, services: sensor })
    expect(await newcomer.take({ type: 'ERROR' })).toMatchObject({ code: 'FLAPPING' })
    await holder.report(flakeAddress, 1, climate, [degrees(1)])
    await newcomer.report(bystander.address, 1, climate, [degrees(1)])
    expect([...holder.waiting, ...newcomer.waiting]).toEqual([])
  })

  test('a link that breaks takes its devices offline, and a new one brings them back', async () => {
    const { link, device, address } = await ground.sensor()
    const events = await ground.eventsOf(device, 'META_STATUS_CHANGE')
    link.cut()
    await until(() => events.events.length > 0, 'the device to go offline')
    const newer = await ground.link()
    await newer.hello(device, sensor, { session: 'boot-1' })
    await newer.report(address, 1, climate, [degrees(1)])
    await events.caughtUp(ground.server)
    expect(events.of('META_STATUS_CHANGE')).toMatchObject([
      { status: 'offline', numConnects: 1 },
      { status: 'online', numConnects: 2 },
    ])
  })
}
