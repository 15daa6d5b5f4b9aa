import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { UpdateSettings } from '#firmware/options'
import { pagesOf } from '#test/blackbox/pages'
import { FirmwareFixture, onUpdates } from '#test/routes/firmware-fixture'

/** §2.7, §3.2, §4.5, contract 6. */

let fixture: FirmwareFixture
const open = async (updates: Partial<UpdateSettings> = {}) => {
  fixture = await FirmwareFixture.open(updates)
}
afterEach(() => fixture?.close())

const image = Buffer.from('an image')
const release = (name: string) => fixture.upload(`/updates/projects/boiler/releases/${name}`, image)

async function someDevices(): Promise<void> {
  await fixture.known('A', 'boiler', [
    { firmware: '2.0.0', index: 1 },
    { firmware: '1.4.2', hardware: 'rev-b', index: 0 },
  ])
  await fixture.known('B', undefined, [{ firmware: '1.0.0', index: 0 }])
  await fixture.known('C', 'boiler', undefined)
  await fixture.known('D', undefined, undefined)
}

describe('the state of updates', () => {
  beforeEach(() => open())

  test('is listed at each depth', async () => {
    await someDevices()
    await release('1.5.0')
    const short = [
      { deviceIdentifier: 'A', project: 'boiler' },
      { deviceIdentifier: 'B', project: null },
      { deviceIdentifier: 'C', project: 'boiler' },
    ]
    const listed = await fixture.call('GET', '/updates')
    expect(listed.json).toEqual(short)
    expect(listed.headers.get('stream-offset')).toMatch(/^\d+$/)
    const deep = [
      {
        ...short[0],
        firmwares: [
          { firmware: '1.4.2', hardware: 'rev-b', index: 0, updateAvailable: true },
          { firmware: '2.0.0', index: 1, updateAvailable: false },
        ],
      },
      { ...short[1], firmwares: [{ firmware: '1.0.0', index: 0, updateAvailable: false }] },
      { ...short[2], firmwares: [] },
    ]
    for (const depth of [1, 2, 9]) expect((await fixture.call('GET', `/updates?depth=${depth}`)).json).toEqual(deep)
    expect((await fixture.call('GET', '/updates/a')).json).toEqual(deep[0])
    expect((await fixture.call('GET', '/updates/A?depth=0')).json).toEqual(short[0])
    for (const device of ['D', 'E']) expect((await fixture.call('GET', `/updates/${device}`)).status).toBe(404)
    expect((await fixture.call('GET', '/updates?depth=x')).status).toBe(400)
  })

  test('is listed in pages, and by name', async () => {
    await someDevices()
    const names = ({ json }: { json: { deviceIdentifier: string }[] }) => json.map((row) => row.deviceIdentifier)
    const pages = await pagesOf((path) => fixture.call('GET', path), '/updates?limit=2')
    expect(pages.map(names)).toEqual([['A', 'B'], ['C']])
    const named = await fixture.call('GET', '/updates?deviceIdentifier=d&deviceIdentifier=c&deviceIdentifier=A&limit=2')
    expect([names(named), named.headers.get('link')]).toEqual([['A', 'C'], null])
  })

  test('is visible within the scope', async () => {
    await someDevices()
    fixture.caller('narrow', onUpdates(['read'], ['C', 'D']))
    const listed = await fixture.call('GET', '/updates', { by: 'narrow' })
    expect(listed.json).toEqual([{ deviceIdentifier: 'C', project: 'boiler' }])
    expect((await fixture.call('GET', '/updates/A', { by: 'narrow' })).status).toBe(404)
    expect((await fixture.call('POST', '/updates/C', { by: 'narrow' })).status).toBe(403)
  })

  test('an available update is the one that a request would start: pins count, rollouts do not', async () => {
    await someDevices()
    const isAvailable = async () => (await fixture.call('GET', '/updates/B')).json.firmwares[0].updateAvailable
    await fixture.known('B', 'boiler', [{ firmware: '1.0.0', index: 0 }])
    for (const version of ['0.9.0', '1.0.0', '1.0.0+build', '1.1.0-rc.1']) await release(version)
    expect(await isAvailable()).toBe(true)
    await fixture.call('DELETE', '/updates/projects/boiler/releases/1.1.0-rc.1')
    expect(await isAvailable()).toBe(false)
    await fixture.put('/updates/projects/boiler/pins/B', { firmware: '0.9.0' })
    expect(await isAvailable()).toBe(true)
    await fixture.put('/updates/projects/boiler/pins/B', { firmware: '1.0.0' })
    expect(await isAvailable()).toBe(false)
    await fixture.call('DELETE', '/updates/projects/boiler/pins/B')
    await fixture.put('/updates/projects/boiler/rollout', fixture.rollout({ firmware: '3.0.0', percent: 0 }))
    await release('1.2.0')
    expect(await isAvailable()).toBe(true)
  })
})

describe('a manual update', () => {
  beforeEach(() => open({ options: { isConnectUpdateDisabled: true } }))
  const fields = { project: 'boiler', firmwares: [{ firmware: '1.4.2', index: 0 }], autoUpdate: false }
  const post = (device: string) => fixture.call('POST', `/updates/${device}`)

  test('offers the image at its URL, and shows the progress', async () => {
    await release('1.5.0')
    const device = await fixture.link('A', fields, () => [
      { status: 'STARTED' },
      { status: 'DOWNLOADING', progress: 40 },
    ])
    await post('A')
    const response = await fetch(device.offers[0]?.url ?? '')
    expect([response.status, Buffer.from(await response.arrayBuffer())]).toEqual([200, image])
    const update = async () => (await fixture.call('GET', '/updates?depth=2')).json[0].firmwares[0].update
    while ((await update()).status !== 'DOWNLOADING') await new Promise((resolve) => setTimeout(resolve, 1))
    expect(await update()).toEqual({ status: 'DOWNLOADING', firmware: '1.5.0', progress: 40, at: expect.any(Number) })
    expect((await post('A')).json).toEqual({ status: 'STARTED', message: 'already running' })
  })
})

test('an external update server replaces projects and images', async () => {
  await open({ server: { isEmbedded: false, check: async () => undefined } })
  const gone = [404, { error: 'another update server is set' }]
  const calls: [string, string, RequestInit?][] = [
    ['GET', '/updates/projects'],
    ['GET', '/updates/projects/boiler/releases'],
    ['GET', '/updates/projects/boiler/releases/1.0.0'],
    ['PUT', '/updates/projects/boiler/releases/1.0.0', { body: 'an image' }],
    ['DELETE', '/updates/projects/boiler/releases/1.0.0'],
    ['GET', '/updates/projects/boiler/pins/A'],
    ['DELETE', '/updates/projects/boiler/pins/A'],
    ['GET', '/updates/projects/boiler/rollout'],
    ['DELETE', '/updates/projects/boiler/rollout'],
    ['POST', '/updates/projects/boiler/rollout/pause'],
    ['POST', '/updates/projects/boiler/rollout/resume'],
    ['GET', `/updates/images/${'0'.repeat(64)}`],
  ]
  for (const [method, path, init] of calls) {
    const { status, json } = await fixture.call(method, path, init)
    expect([status, json], `${method} ${path}`).toEqual(gone)
  }
  const pin = await fixture.put('/updates/projects/boiler/pins/A', { firmware: '1.0.0' })
  const rollout = await fixture.put('/updates/projects/boiler/rollout', fixture.rollout())
  for (const { status, json } of [pin, rollout]) expect([status, json]).toEqual(gone)
  fixture.caller('without-grants')
  expect((await fixture.call('GET', '/updates/projects', { by: 'without-grants' })).status).toBe(403)
  expect((await fixture.call('POST', '/updates/hook/boiler')).status).toBe(204)
})
