import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EventClient, streamHead } from '#test/blackbox/event-client'
import { comesTo, put, release, standing, toldOf, trigger } from '#test/blackbox/firmware-fleet'
import { type Fields, LinkClient } from '#test/blackbox/link-client'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { download, downloadPart, type Offer, UpdatingDevice } from '#test/blackbox/updating-device'
import { ReferenceUpdateServer } from '#test/outbound/reference-update-server'

/** SIGKILL in each state of an update, and what becomes of it. Contract 6, 7; architecture 2. */

let server: StartedServer
let name: string
let device: UpdatingDevice
let killed = 0
/** Time enough for a start on a machine that has much to do. */
const patientS = '60'
beforeAll(async () => {
  server = await StartedServer.start({ UPDATE_OFFER_TIMEOUT_S: patientS, DISABLE_CONNECT_UPDATE: 'on' })
  await release(server, 'boiler/1.1.0')
})
beforeEach(() => {
  name = `KILLED-${++killed}`
})
afterEach(() => {
  device?.cut()
  expect(server.complaints).toEqual([])
})
afterAll(() => server?.finish())

/** What the device says for each state, in order. */
const says: Readonly<Record<string, (offer: Offer) => void>> = {
  STARTED: (offer) => device.says(offer, 'STARTED'),
  DOWNLOADING: (offer) => device.says(offer, 'DOWNLOADING', { progress: 40 }),
  VERIFYING: (offer) => device.says(offer, 'DOWNLOADING', { progress: 100 }),
  INSTALLING: (offer) => device.says(offer, 'INSTALLING'),
  REBOOTING: (offer) => device.says(offer, 'INSTALLED'),
}
const states = Object.keys(says)

/** Offered, and not answered. */
async function offering(): Promise<Offer> {
  device = await UpdatingDevice.linked(server, name)
  // Whoever asked hears nothing of a process that died.
  trigger(server, name).catch(() => undefined)
  return device.offered()
}

async function killedAt(state: string): Promise<Offer> {
  const offer = await offering()
  for (const each of states.slice(0, states.indexOf(state) + 1)) says[each]?.(offer)
  if (state !== 'OFFERING') await comesTo(server, name, state)
  await server.kill()
  await server.startAgain()
  expect(await standing(server, name)).toMatchObject({ status: state, firmware: '1.1.0' })
  return offer
}

async function goesOn(offer: Offer, from: string): Promise<void> {
  for (const each of states.slice(states.indexOf(from) + 1)) says[each]?.(offer)
  await device.reboot(server, '1.1.0')
  expect(await comesTo(server, name, 'DONE')).toMatchObject({ firmware: '1.1.0' })
  expect(device.offers).toEqual([])
}

test('checking: the update server is asked again, and the device is offered what there is', async () => {
  const reference = await ReferenceUpdateServer.open()
  const offered = { firmware: '2.0.0', url: 'https://images.example/2', sha256: 'ab'.repeat(32), size: 5 }
  try {
    reference.answering = () => 'silence'
    await server.stop()
    await server.startAgain({ UPDATE_SERVER_URL: reference.url })
    device = await UpdatingDevice.linked(server, name)
    trigger(server, name).catch(() => undefined)
    await until(() => reference.asked.length === 1, 'the server to be asked')
    await server.kill()
    reference.answering = () => ({ offer: offered })
    await server.startAgain()
    await until(() => reference.asked.length === 2, 'the server to be asked again')
    await device.link(server)
    const offer = await device.offered(offered)
    await device.installs(server, offer)
    await comesTo(server, name, 'DONE')
  } finally {
    await reference.close()
    await server.stop()
    await server.startAgain({ UPDATE_SERVER_URL: '' })
  }
})

describe('offering', () => {
  async function startWaiting(offerTimeoutS: string): Promise<void> {
    await server.stop()
    await server.startAgain({ UPDATE_OFFER_TIMEOUT_S: offerTimeoutS })
  }
  afterAll(() => startWaiting(patientS))

  test('the device comes back, is offered the same, and goes on', async () => {
    const { id } = await killedAt('OFFERING')
    await device.link(server)
    await goesOn(await device.offered({ id }), '')
  })

  test('the device stays away: it has failed in time, and is heard when it goes on all the same', async () => {
    await startWaiting('12')
    const offer = await killedAt('OFFERING')
    const words = 'DEVICE_OFFLINE: it did not answer in time'
    expect(await comesTo(server, name, 'FAILED')).toMatchObject({ message: words })
    await device.link(server)
    await goesOn(offer, '')
  })

  test('the time is over before the server is back', async () => {
    await startWaiting('2')
    await offering()
    await server.kill()
    // The server takes nothing from the time: it only is not there.
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    await server.startAgain()
    await comesTo(server, name, 'FAILED')
    const again = trigger(server, name)
    expect(await again).toMatchObject({ status: 'DEVICE_OFFLINE' })
  })
})

describe.each(states)('%s', (state) => {
  test('the device goes on where it was; nothing is offered twice', async () => {
    const offer = await killedAt(state)
    await device.link(server)
    await goesOn(offer, state)
  })
})

test.each(states.slice(0, -1))('%s: the device started anew as well, and is offered the same again', async (state) => {
  const { id, url, size } = await killedAt(state)
  const half = await downloadPart(url.replace(/:\d+\//, `:${server.port}/`), 0, 400, size)
  await device.reboot(server)
  const offer = await device.offered({ id })
  // Its address is of the server of now, and the image the one of before.
  const image = await download(offer, 400)
  expect(image.subarray(0, 400).equals(half)).toBe(true)
  await comesTo(server, name, 'STARTED')
  await goesOn(offer, 'STARTED')
})

test.each([
  ['with the old version: it has failed', '1.0.0', 'FAILED', 'came back with the old firmware'],
  ['with the new one: it is done', '1.1.0', 'DONE', undefined],
  ['with another one: it has failed', '1.0.7', 'FAILED', 'came back with another firmware'],
])('REBOOTING: the device comes back %s', async (_, firmware, state, message) => {
  await killedAt('REBOOTING')
  await device.reboot(server, firmware)
  expect((await comesTo(server, name, state)).message).toBe(message)
})

test('done while the server was away, and killed once more behind that: told once', async () => {
  await killedAt('INSTALLING')
  const before = await streamHead(server)
  await device.reboot(server, '1.1.0')
  await comesTo(server, name, 'DONE')
  await server.kill()
  await server.startAgain()
  await device.link(server)
  const events = await EventClient.open(server, { ...before })
  expect(await toldOf(server, events, name)).toEqual(['0 DONE 1.1.0'])
  events.cut()
})

interface Heard {
  readonly type: string
  readonly flakeAddress: number
  readonly deviceIdentifier: string
  readonly id: string
}

describe('the walk of a rollout', () => {
  const names = Array.from({ length: 600 }, (_, number) => `WALKED-${1_000 + number}`)
  let link: LinkClient
  let project: string
  const installed = new Map<string, string[]>()

  /** All on one link; each installs what it is offered, and comes back at once. */
  async function linkAll(): Promise<void> {
    link = await LinkClient.open(server, 'msgpack')
    const known = new Map<number, string>()
    const hello = (deviceIdentifier: string) => {
      const ids = installed.get(deviceIdentifier) ?? []
      const firmwares = [{ firmware: ids.length > 0 ? '1.1.0' : '1.0.0', index: 0 }]
      const session = `boot-${ids.length}`
      return { type: 'HELLO', deviceIdentifier, session, project, firmwares, services: [] }
    }
    const hear = ({ type, flakeAddress, deviceIdentifier, id }: Heard) => {
      if (type === 'WELCOME') known.set(flakeAddress, deviceIdentifier)
      if (type !== 'FIRMWARE') return
      const device = known.get(flakeAddress) ?? ''
      const ids = installed.get(device) ?? []
      if (!ids.includes(id)) installed.set(device, [...ids, id])
      const said = (status: string) => ({ type: 'FIRMWARE_STATUS', flakeAddress, id, status })
      link.send(said('STARTED'), said('DOWNLOADING'), said('INSTALLING'), said('INSTALLED'), hello(device))
    }
    link.socket.on('message', () => {
      for (const frame of link.waiting.splice(0)) hear(frame as unknown as Heard)
    })
    link.send(...names.map(hello))
    await until(
      () => known.size === names.length,
      () => `${known.size} to be welcomed`,
    )
  }

  test.each([
    [0, 'on'],
    [300, 'on'],
    [300, 'off'],
  ])('killed when %i have it, DISABLE_CONNECT_UPDATE %s: all have it in the end, each once', async (count, set) => {
    installed.clear()
    project = `walked-${count}-${set}`
    await server.stop()
    await server.startAgain({ DISABLE_CONNECT_UPDATE: set })
    await release(server, `${project}/1.1.0`)
    expect((await put(server, `${project}/rollout`, { firmware: '1.1.0', percent: 0 })).status).toBe(200)
    await linkAll()
    expect((await put(server, `${project}/rollout`, { firmware: '1.1.0', percent: 100 })).status).toBe(200)
    await until(() => installed.size >= count, `${count} to have it`)
    await server.kill()
    link.cut()
    await server.startAgain()
    await linkAll()
    const counts = { chosen: names.length, running: 0, done: names.length, failed: 0, refused: 0 }
    let seen: Fields = {}
    await until(
      async () => {
        seen = (await server.get(`/updates/projects/${project}/rollout`)).json as Fields
        return JSON.stringify(seen.counts) === JSON.stringify(counts)
      },
      () => `all to have it: ${JSON.stringify(seen.counts)}, ${installed.size}`,
    )
    expect([...installed.values()].filter((ids) => ids.length !== 1)).toEqual([])
    link.cut()
  })
})
