import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { comesTo, imageOf, putImage, sha256Of, toldOf, trigger } from '#test/blackbox/firmware-fleet'
import { type Environment, StartedServer } from '#test/blackbox/started-server'
import { download, UpdatingDevice } from '#test/blackbox/updating-device'

/** Firmware from the release to the device that came back with it, over real sockets. §2.7, §3.2, §4.5, contract 4, 6, 7. */

let server: StartedServer
const off: Environment = { DISABLE_CONNECT_UPDATE: 'on', PUBLIC_URL: '' }
beforeAll(async () => {
  server = await StartedServer.start(off)
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

test('several firmwares: one behind the other, each with its own last state; progress is told in steps', async () => {
  const project = 'several'
  const two = imageOf('two')
  await putImage(server, `${project}/2.0.0`, two, { query: '?index=1' })
  await putImage(server, `${project}/3.0.0`, imageOf('three'), { query: '?index=4' })
  const events = await EventClient.open(server)
  const device = await UpdatingDevice.linked(server, 'SEVERAL', {
    project,
    firmwares: [4, 1, 0].map((index) => ({ firmware: '1.0.0', index })),
  })
  const triggered = trigger(server, 'SEVERAL')
  const first = await device.offered()
  expect(first).toMatchObject({ firmware: '2.0.0', index: 1 })
  device.says(first, 'STARTED')
  expect(await triggered).toEqual({ status: 'STARTED' })
  for (let progress = 0; progress <= 4; progress++) device.says(first, 'DOWNLOADING', { progress })
  await device.installs(server, first)
  const second = await device.offered()
  expect(second).toMatchObject({ firmware: '3.0.0', index: 4 })
  expect(second.id).not.toBe(first.id)
  device.says(second, 'STARTED')
  device.says(second, 'FAILED', { message: 'no room' })
  await comesTo(server, 'SEVERAL', 'FAILED', 4)
  const told = await toldOf(server, events, 'SEVERAL')
  expect(told.filter((line) => !/DOWNLOADING 2.0.0 [1-4]%/.test(line))).toEqual([
    '0 CHECKING',
    '0 IDLE NO_UPDATE',
    '1 OFFERING 2.0.0',
    '1 STARTED 2.0.0',
    '1 DOWNLOADING 2.0.0 0%',
    '1 INSTALLING 2.0.0',
    '1 REBOOTING 2.0.0',
    '1 DONE 2.0.0',
    '4 OFFERING 3.0.0',
    '4 STARTED 3.0.0',
    '4 FAILED 3.0.0 no room',
  ])
  const { json } = await server.get('/updates/SEVERAL?depth=2')
  expect(json).toMatchObject({
    firmwares: [
      { index: 0, updateAvailable: false, update: { status: 'IDLE', message: 'NO_UPDATE' } },
      { index: 1, firmware: '2.0.0', updateAvailable: false, update: { status: 'DONE', firmware: '2.0.0' } },
      { index: 4, firmware: '1.0.0', updateAvailable: true, update: { status: 'FAILED', message: 'no room' } },
    ],
  })
  device.cut()
  events.cut()
})
