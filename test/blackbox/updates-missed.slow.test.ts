import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { comesTo, release, standing, toldOf, trigger } from '#test/blackbox/firmware-fleet'
import { clockAhead } from '#test/blackbox/moved-clock'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { downloadPart, type Offer, UpdatingDevice } from '#test/blackbox/updating-device'
import { ReferenceUpdateServer } from '#test/outbound/reference-update-server'

/** What falls into a time without a server: runs of the schedule, ends of waits, the time of an image's address. */

const hourMs = 3_600_000

let server: StartedServer
const open: { cut(): void }[] = []
beforeAll(async () => {
  server = await StartedServer.start({ UPDATE_OFFER_TIMEOUT_S: '2', DISABLE_CONNECT_UPDATE: 'on' })
})
afterEach(() => {
  for (const each of open.splice(0)) each.cut()
  expect(server.complaints).toEqual([])
})
afterAll(() => server?.finish())

async function linked(name: string, project: string): Promise<UpdatingDevice> {
  const device = await UpdatingDevice.linked(server, name, { project })
  open.push(device)
  return device
}

test('a run of AUTO_UPDATE that was missed is made up for, once', async () => {
  const project = 'missed'
  // Not while this test runs.
  const at = new Date(Date.now() + 2 * hourMs)
  await server.stop()
  await server.startAgain({ AUTO_UPDATE: `${at.getUTCMinutes()} ${at.getUTCHours()} * * *` })
  await release(server, `${project}/1.1.0`)
  const devices = [await linked('MISSED-A', project), await linked('MISSED-B', project)]
  await server.kill()
  expect(devices.flatMap(({ offers }) => offers)).toEqual([])
  await server.startAgain(clockAhead(3 * hourMs))
  for (const device of devices) {
    await device.link(server)
    await device.installs(server, await device.offered({ firmware: '1.1.0' }))
    await comesTo(server, device.name, 'DONE')
  }
  await release(server, `${project}/1.2.0`)
  await server.kill()
  await server.startAgain(clockAhead(4 * hourMs))
  for (const device of devices) await device.link(server)
  const [one, two] = devices as [UpdatingDevice, UpdatingDevice]
  const asked = trigger(server, one.name)
  one.says(await one.offered({ firmware: '1.2.0' }), 'NOT_OK')
  expect(await asked).toEqual({ status: 'DEVICE_NOT_OK' })
  expect([two.offers, (await standing(server, two.name))?.firmware]).toEqual([[], '1.1.0'])
  await server.stop()
  await server.startAgain({ AUTO_UPDATE: '', NODE_OPTIONS: '' })
})

describe('an image whose address has expired', () => {
  test('is refused, and the device that is offered it anew goes on with what it has', async () => {
    const project = 'expired'
    await release(server, `${project}/1.1.0`)
    const device = await linked('EXPIRED-A', project)
    const asked = trigger(server, device.name)
    const { id, url, size } = await device.offered()
    for (const status of ['STARTED', 'DOWNLOADING']) device.says({ id }, status, { progress: 0 })
    expect(await asked).toEqual({ status: 'STARTED' })
    const half = await downloadPart(url, 0, 400, size)
    await comesTo(server, device.name, 'DOWNLOADING')
    await server.kill()
    await server.startAgain(clockAhead(24 * hourMs + 60_000))
    const late = () => fetch(url.replace(/:\d+\//, `:${server.port}/`), { headers: { range: 'bytes=400-' } })
    const refused = await late()
    expect([refused.status, await refused.text()]).toEqual([403, ''])
    expect(await comesTo(server, device.name, 'FAILED')).toMatchObject({ message: 'did not download it in time' })
    // A day is all a download has: it is asked for anew, under another address.
    await device.link(server)
    device.says({ id }, 'DOWNLOADING', { progress: 40 })
    const again = trigger(server, device.name)
    const offer: Offer = await device.offered()
    expect(offer.id).not.toBe(id)
    expect((await late()).status).toBe(403)
    device.says(offer, 'STARTED')
    expect(await again).toEqual({ status: 'STARTED' })
    const rest = await downloadPart(offer.url, 400, size, size)
    expect(half.length + rest.length).toBe(size)
    await device.installs(server, offer)
    await comesTo(server, device.name, 'DONE')
    await server.stop()
    await server.startAgain({ NODE_OPTIONS: '' })
  })

  test('is not needed by one that gives up: who asks for it again has it offered under another', async () => {
    const project = 'given-up'
    await release(server, `${project}/1.1.0`)
    const device = await linked('GIVEN-UP-A', project)
    const first = trigger(server, device.name)
    const before = await device.offered()
    device.says(before, 'STARTED')
    await first
    device.says(before, 'FAILED', { message: 'the image is not to be had: 403' })
    await comesTo(server, device.name, 'FAILED')
    const again = trigger(server, device.name)
    const offer = await device.offered()
    expect([offer.id === before.id, offer.url === before.url]).toEqual([false, false])
    device.says(offer, 'STARTED')
    expect(await again).toEqual({ status: 'STARTED' })
  })
})

describe('another update server', () => {
  let reference: ReferenceUpdateServer
  beforeEach(async () => {
    reference = await ReferenceUpdateServer.open()
    reference.answering = () => 'silence'
    await server.stop()
    await server.startAgain({ UPDATE_SERVER_URL: reference.url })
  })
  afterEach(() => reference.close())
  afterAll(async () => {
    await server.stop()
    await server.startAgain({ UPDATE_SERVER_URL: '', NODE_OPTIONS: '' })
  })

  /** Killed while it hangs, with the question on its way. */
  async function killedWhileAsking(name: string): Promise<UpdatingDevice> {
    const device = await linked(name, 'elsewhere')
    // Whoever asked hears nothing of a process that died.
    trigger(server, name).catch(() => undefined)
    await until(() => reference.asked.length === 1, 'the server to be asked')
    await server.kill()
    return device
  }

  test('hangs still when the server is back: it is asked again, and the wait has an end', async () => {
    const device = await killedWhileAsking('HANGS-A')
    await server.startAgain()
    await until(() => reference.asked.length === 2, 'the server to be asked again')
    expect(await standing(server, device.name)).toMatchObject({ status: 'CHECKING' })
    const message = 'UPDATE_SERVER_ERROR: the update server did not answer in time'
    expect(await comesTo(server, device.name, 'FAILED')).toMatchObject({ message })
  })

  test('answers again, but the time was over before: it has failed, and nothing is offered', async () => {
    const device = await killedWhileAsking('HANGS-B')
    const offer = { firmware: '2.0.0', url: 'https://images.example/2', sha256: 'ab'.repeat(32), size: 5 }
    reference.answering = () => ({ offer })
    await server.startAgain(clockAhead(31_000))
    await device.link(server)
    const message = 'UPDATE_SERVER_ERROR: did not answer in time'
    expect(await comesTo(server, device.name, 'FAILED')).toMatchObject({ message })
    expect(device.offers).toEqual([])
    // It can be asked for anew.
    const asked = trigger(server, device.name)
    device.says(await device.offered(offer), 'NOT_OK')
    expect(await asked).toEqual({ status: 'DEVICE_NOT_OK' })
  })

  test('is not there: who asks is told so, not where it would be; the log says that', async () => {
    const { host } = new URL(reference.url)
    await reference.close()
    const events = await EventClient.open(server)
    const device = await linked('NOWHERE-A', 'elsewhere')
    open.push(events)
    const message = 'the update server could not be reached'
    expect(await trigger(server, device.name)).toEqual({ status: 'UPDATE_SERVER_ERROR', message })
    expect(await toldOf(server, events, device.name)).toEqual([
      '0 CHECKING',
      `0 FAILED UPDATE_SERVER_ERROR: ${message}`,
    ])
    expect(server.run.output).toContain(host)
    reference = await ReferenceUpdateServer.open()
  })
})
