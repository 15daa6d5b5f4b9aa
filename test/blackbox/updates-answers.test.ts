import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { callHook, comesTo, hookSecret, release, toldOf, trigger } from '#test/blackbox/firmware-fleet'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { UpdatingDevice } from '#test/blackbox/updating-device'
import { ReferenceUpdateServer } from '#test/outbound/reference-update-server'

/** Each answer of asking by hand, with its cause. §3.2, contract 6. */

let server: StartedServer
const open: { cut(): void }[] = []
let names = 0

beforeAll(async () => {
  server = await StartedServer.start({ UPDATE_OFFER_TIMEOUT_S: '1', DISABLE_CONNECT_UPDATE: 'on' })
  await release(server, 'boiler/1.1.0')
})
afterAll(async () => {
  for (const each of open) each.cut()
  await server?.finish()
})

async function linked(manner: ConstructorParameters<typeof UpdatingDevice>[1] = {}, at = server) {
  const device = await UpdatingDevice.linked(at, `ANSWER-${++names}`, manner)
  open.push(device)
  return device
}

describe('the device', () => {
  test.each<readonly [string, (device: UpdatingDevice, offer: { id: string }) => unknown, object, string]>([
    ['says STARTED', (device, offer) => device.says(offer, 'STARTED'), { status: 'STARTED' }, 'STARTED'],
    ['downloads at once', (device, offer) => device.says(offer, 'DOWNLOADING'), { status: 'STARTED' }, 'DOWNLOADING'],
    [
      'refuses',
      (device, offer) => device.says(offer, 'NOT_OK', { message: 'battery low' }),
      { status: 'DEVICE_NOT_OK', message: 'battery low' },
      'REFUSED',
    ],
    ['fails', (device, offer) => device.says(offer, 'FAILED'), { status: 'DEVICE_NOT_OK' }, 'FAILED'],
    ['is cut off', (device) => device.cut(), { status: 'DEVICE_OFFLINE' }, 'FAILED'],
    ['says BYE', (device) => device.bye(), { status: 'DEVICE_OFFLINE' }, 'FAILED'],
    ['does not answer', () => undefined, { status: 'DEVICE_OFFLINE' }, 'FAILED'],
    [
      'is another one',
      (device) => device.says({ id: 'of-another' }, 'STARTED'),
      { status: 'DEVICE_OFFLINE' },
      'FAILED',
    ],
  ])('%s', async (_, does, outcome, state) => {
    const device = await linked({ autoUpdate: false })
    const triggered = trigger(server, device.name)
    const joined = Promise.all(Array.from({ length: 5 }, () => trigger(server, device.name)))
    await does(device, await device.offered())
    expect(await triggered).toMatchObject(outcome)
    const begun = { status: 'STARTED' }
    for (const heard of await joined) expect(heard).toMatchObject(state === 'STARTED' ? begun : outcome)
    await comesTo(server, device.name, state)
  })

  test('is nowhere, unknown, or has nothing that anybody knows of', async () => {
    const bare = await linked({ firmwares: [] })
    expect(await trigger(server, bare.name)).toEqual({ status: 'NO_UPDATE' })
    const newest = await linked({ firmwares: [{ firmware: '1.1.0+build.7', index: 0 }] })
    expect(await trigger(server, newest.name)).toEqual({ status: 'NO_UPDATE' })
    const gone = await linked()
    gone.cut()
    await until(async () => {
      const heard = (await trigger(server, gone.name)) as { status: string }
      return heard.status === 'DEVICE_OFFLINE'
    }, 'the device to be offline')
    expect((await server.ask('/updates/NOBODY', { method: 'POST' })).status).toBe(404)
  })

  test('came by an address that is none: we could not say where the image is', async () => {
    const device = await linked({ headers: { host: 'nowhere/at/all' } })
    const said = { status: 'SERVER_ERROR', message: 'no address of this server is known' }
    expect(await trigger(server, device.name)).toEqual(said)
    expect(device.offers).toEqual([])
  })

  test('answers late: what it does is so', async () => {
    const device = await linked()
    const triggered = trigger(server, device.name)
    const offer = await device.offered()
    expect(await triggered).toMatchObject({ status: 'DEVICE_OFFLINE' })
    device.says(offer, 'STARTED')
    await comesTo(server, device.name, 'STARTED')
    await device.installs(server, offer)
    await comesTo(server, device.name, 'DONE')
  })
})

describe('another update server', () => {
  const reference = { server: undefined as ReferenceUpdateServer | undefined }
  let backend: StartedServer
  const answers = (answering: ReferenceUpdateServer['answering']) => {
    if (reference.server) reference.server.answering = answering
  }
  const offer = {
    firmware: '2.0.0',
    url: 'https://images.example/2.0.0?key=a%20b',
    sha256: 'ab'.repeat(32),
    size: 5,
  }

  beforeAll(async () => {
    reference.server = await ReferenceUpdateServer.open()
    backend = await StartedServer.start({
      UPDATE_SERVER_URL: `${reference.server.url}/api`,
      UPDATE_SERVER_TOKEN: 'let-me-in',
      UPDATE_HOOK_SECRET: hookSecret,
      DISABLE_CONNECT_UPDATE: 'on',
      AUTO_UPDATE: '0 0 1 1 *',
    })
  })
  afterAll(async () => {
    await backend?.finish()
    await reference.server?.close()
  })

  test.each<readonly [string, ReturnType<ReferenceUpdateServer['answering']>, string]>([
    ['has none', 'none', 'NO_UPDATE'],
    ['offers what is older', { offer: { ...offer, firmware: '0.1.0' } }, 'NO_UPDATE'],
    ['says 429', { status: 429, headers: { 'retry-after': '1' } }, 'UPDATE_SERVER_OUT_OF_RESOURCES'],
    ['says 503', { status: 503 }, 'UPDATE_SERVER_OUT_OF_RESOURCES'],
    ['says 500', { status: 500 }, 'UPDATE_SERVER_ERROR'],
    ['leads elsewhere', { status: 302, headers: { location: 'http://127.0.0.1:9/' } }, 'UPDATE_SERVER_ERROR'],
    ['says nonsense', { text: '{"firmware":' }, 'UPDATE_SERVER_ERROR'],
    ['leaves out the image', { offer: { firmware: '2.0.0' } }, 'UPDATE_SERVER_ERROR'],
    ['breaks off', 'half an answer', 'UPDATE_SERVER_ERROR'],
    ['ends its connection', 'reset', 'UPDATE_SERVER_ERROR'],
  ])('%s', async (_, answering, status) => {
    const device = await linked({ firmwares: [{ firmware: '1.0.0', hardware: 'b', index: 0 }] }, backend)
    answers(() => answering)
    expect(await trigger(backend, device.name)).toMatchObject({ status })
    expect(reference.server?.asked.at(-1)).toEqual({
      ...{ project: 'boiler', device: device.name, firmware: '1.0.0', hardware: 'b', index: 0 },
      authorization: 'Bearer let-me-in',
    })
    expect(device.offers).toEqual([])
  })

  test('its offer goes to the device as it is, by hand and by the hook; nothing is embedded then', async () => {
    answers(({ firmware }) => (firmware === '1.0.0' ? { offer } : 'none'))
    const device = await linked({}, backend)
    expect((await backend.get(`/updates/${device.name}`)).json).toMatchObject({
      firmwares: [{ updateAvailable: true }],
    })
    const triggered = trigger(backend, device.name)
    const came = await device.offered()
    expect(came).toMatchObject(offer)
    await device.installs(backend, came)
    expect(await triggered).toEqual({ status: 'STARTED' })
    expect(await comesTo(backend, device.name, 'DONE')).toMatchObject({ firmware: '2.0.0' })

    const other = await linked({}, backend)
    const events = await EventClient.open(backend)
    // A failing server is left alone for some seconds: one success ends that.
    expect(await callHook(backend, { body: JSON.stringify({ devices: [other.name] }) })).toBe(204)
    const second = await other.offered()
    other.says(second, 'NOT_OK', { message: 'not today' })
    await comesTo(backend, other.name, 'REFUSED')
    expect(await toldOf(backend, events, other.name)).toEqual(['0 OFFERING 2.0.0', expect.stringContaining('REFUSED')])
    events.cut()
    expect((await backend.get('/updates/projects')).json).toEqual({ error: 'another update server is set' })
  })

  test('is not there', async () => {
    const device = await linked({}, backend)
    await reference.server?.close()
    expect(await trigger(backend, device.name)).toMatchObject({ status: 'UPDATE_SERVER_ERROR' })
    expect((await backend.get(`/updates?deviceIdentifier=${device.name}&depth=2`)).status).toBe(200)
    reference.server = undefined
  })
})
