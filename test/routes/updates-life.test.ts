import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { comesTo, imageOf, putImage, sha256Of, toldOf, trigger } from '#test/blackbox/firmware-fleet'
import { StartedServer } from '#test/blackbox/started-server'
import { download, UpdatingDevice } from '#test/blackbox/updating-device'

/** Firmware from the release to the device that came back with it, over real sockets. §2.7, §3.2, §4.5, contract 4, 6, 7. */

let server: StartedServer
beforeAll(async () => {
  server = await StartedServer.here({ DISABLE_CONNECT_UPDATE: 'on', PUBLIC_URL: '' })
})
afterAll(() => server?.finish())

describe.each(['json', 'msgpack'] as const)('by %s', (protocol) => {
  const project = `boiler-${protocol}`
  const name = `LIFE-${protocol.toUpperCase()}`
  const image = imageOf(project, 300_001)
  const sha256 = sha256Of(image)
  const short = { deviceIdentifier: name, project }

  test('the whole life of an update', async () => {
    const events = await EventClient.open(server)
    const device = await UpdatingDevice.linked(server, name, {
      protocol,
      project,
      firmwares: [{ firmware: '1.0.0', hardware: 'rev-b', index: 0 }],
    })
    expect(await trigger(server, name)).toEqual({ status: 'NO_UPDATE' })
    const made = await putImage(server, `${project}/1.1.0`, image, { query: '?hardware=rev-b' })
    expect([made.status, made.json]).toEqual([
      201,
      {
        ...{ firmware: '1.1.0', hardware: 'rev-b', index: 0, sha256, size: image.length },
        ...{ createdAt: expect.any(Number), createdBy: expect.any(String) },
      },
    ])
    expect((await server.get(made.headers.get('location')?.replace('/api/v1', '') ?? '')).json).toEqual(made.json)

    const triggered = trigger(server, name)
    const offer = await device.offered()
    expect(offer).toEqual({
      ...{ type: 'FIRMWARE', flakeAddress: expect.any(Number), id: expect.stringMatching(/^[\da-f]{32}$/) },
      ...{ firmware: '1.1.0', hardware: 'rev-b', index: 0, sha256, size: image.length },
      url: expect.stringContaining(
        `http://127.0.0.1:${server.port}/api/v1/updates/images/${sha256}?device=${name}&exp=`,
      ),
    })
    device.says(offer, 'STARTED')
    expect(await triggered).toEqual({ status: 'STARTED' })
    device.says(offer, 'DOWNLOADING', { progress: 0 })
    expect((await download(offer, 70_000)).equals(image)).toBe(true)
    device.says(offer, 'DOWNLOADING', { progress: 50 })
    expect(await comesTo(server, name, 'DOWNLOADING')).toMatchObject({ firmware: '1.1.0' })
    expect(await trigger(server, name)).toEqual({ status: 'STARTED', message: 'already running' })
    device.says(offer, 'DOWNLOADING', { progress: 100, message: 'all is there' })
    device.says(offer, 'INSTALLING')
    device.says(offer, 'INSTALLED')
    await comesTo(server, name, 'REBOOTING')
    await device.reboot(server, '1.1.0')
    const done = await comesTo(server, name, 'DONE')

    expect(await toldOf(server, events, name)).toEqual([
      '0 CHECKING',
      '0 IDLE NO_UPDATE',
      '0 CHECKING',
      '0 OFFERING 1.1.0',
      '0 STARTED 1.1.0',
      '0 DOWNLOADING 1.1.0 0%',
      '0 DOWNLOADING 1.1.0 50%',
      '0 VERIFYING 1.1.0 100% all is there',
      '0 INSTALLING 1.1.0',
      '0 REBOOTING 1.1.0',
      '0 DONE 1.1.0',
    ])
    const firmwares = [{ firmware: '1.1.0', hardware: 'rev-b', index: 0, updateAvailable: false }]
    const listed = async (depth: number) => (await server.get(`/updates?deviceIdentifier=${name}&depth=${depth}`)).json
    expect(await listed(0)).toEqual([short])
    expect(await listed(1)).toEqual([{ ...short, firmwares }])
    expect(await listed(2)).toEqual([{ ...short, firmwares: [{ ...firmwares[0], update: done }] }])
    expect((await server.get(`/updates/${name.toLowerCase()}`)).json).toEqual({ ...short, firmwares })
    device.cut()
    events.cut()
  })
})
