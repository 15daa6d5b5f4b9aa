import { beforeEach, describe, expect, test } from 'vitest'
import { ImageUrls } from '#access/signed-urls'
import { jsonCodec } from '#link/codecs'
import { imageUrlLifetimeMs, type OfferUrlParts, offerUrl } from '#link/offers'
import type { OfferedFirmware } from '#model/update-offer'
import { LinkFixture, type TestLink } from '#test/link/link-fixture'
import { ManualWorld } from '#test/runtime/manual-world'

const sha256 = 'cd'.repeat(32)
const offer: OfferedFirmware = {
  firmware: '2.0.0',
  index: 0,
  sha256,
  size: 5,
  isPinned: false,
  url: null,
  rollout: null,
}

const world = new ManualWorld()
const imageUrls = new ImageUrls(() => new Uint8Array(32))

function urlOf(parts: Partial<OfferUrlParts>, origin = 'http://came.here:80', tenant = 'default'): string | undefined {
  const make = offerUrl({ world, imageUrls, publicUrls: [], ...parts })
  return make({ tenant, codec: jsonCodec, origin }, 'A&1', offer)
}

describe('the URL of an image', () => {
  const path = `/api/v1/updates/images/${sha256}?device=A%261&exp=${world.now() + imageUrlLifetimeMs}&sig=`

  test.each<[string, readonly string[], string]>([
    ['the host of the connection', [], 'http://came.here:80'],
    ['the public URL', ['https://we.example'], 'https://we.example'],
    ['the path of the public URL', ['https://we.example/iot/', 'https://other.example'], 'https://we.example/iot'],
  ])('starts with %s', (_, publicUrls, start) => {
    expect(urlOf({ publicUrls })?.startsWith(start + path)).toBe(true)
  })

  test('is valid for this image and device, with the tenant unless it is the default one', () => {
    for (const [tenant, device] of [
      ['default', 'A&1'],
      ['acme', 'acme/A&1'],
    ] as const) {
      const url = new URL(urlOf({}, undefined, tenant) ?? '')
      const query = {
        device: url.searchParams.get('device') ?? '',
        exp: url.searchParams.get('exp') ?? '',
        sig: url.searchParams.get('sig') ?? '',
      }
      expect(query.device).toBe(device)
      expect(imageUrls.isValid(sha256, query, world.now())).toBe(true)
    }
  })

  test('is unknown without a host', () => {
    expect(urlOf({}, '')).toBeUndefined()
  })

  test('of another server stays unchanged', () => {
    const make = offerUrl({ world, imageUrls, publicUrls: ['https://we.example'] })
    const elsewhere = { ...offer, url: 'https://elsewhere.example/i' }
    expect(make({ tenant: 'default', codec: jsonCodec, origin: '' }, 'A', elsewhere)).toBe(
      'https://elsewhere.example/i',
    )
  })
})

describe('offers', () => {
  let setup: LinkFixture

  beforeEach(async () => {
    const ownWorld = new ManualWorld()
    const parts = { world: ownWorld, imageUrls, publicUrls: [] }
    setup = await LinkFixture.open({ world: ownWorld, offerUrl: offerUrl(parts) })
  })

  const send = (device = 'A', id = 'u1') => setup.links.offers.send('default', device, id, offer)
  const offered = (link: TestLink) => link.received.filter(({ type }) => type === 'FIRMWARE').map(({ id }) => id)
  // `linkedOf` finds the server's end of the connection.
  const offersOn = (device: string) => {
    const found = setup.links.linkedOf('default', device)
    return found ? setup.links.offers.offeredOn(found.link).map((open) => `${open.device} ${open.id}`) : undefined
  }

  test('go to the connection of the device', async () => {
    const [a, b] = [await setup.connected('A'), await setup.connected('B')]
    expect([send('A'), send('B', 'u2'), send('C')]).toEqual([true, true, false])
    expect([offered(a), offered(b), offersOn('A'), offersOn('B')]).toEqual([['u1'], ['u2'], ['A u1'], ['B u2']])
    expect(a.received.at(-1)?.url).toMatch(/^http:\/\/here\/api\/v1\/updates\/images\//)
  })

  test('are not sent on a closed or closing connection', async () => {
    const a = await setup.connected('A')
    setup.links.keyEnded('default', 'none')
    setup.links.dropped(a)
    expect(send()).toBe(false)
    a.close()
    expect(send()).toBe(false)
    expect(offered(a)).toEqual([])
  })

  test('wait while a connection has too many unsent bytes, unless they end meanwhile', async () => {
    const gateway = setup.connect()
    for (const device of ['A', 'B', 'C']) await setup.connected(device, {}, gateway)
    gateway.buffered = 600 * 1024
    expect([send('A'), send('B', 'u2'), send('C', 'u3')]).toEqual([true, true, true])
    expect([offered(gateway), offersOn('A')]).toEqual([[], ['A u1', 'B u2', 'C u3']])
    setup.links.offers.forget('default', 'B')
    setup.links.drained(gateway)
    expect(offered(gateway)).toEqual([])
    gateway.buffered = 0
    const elsewhere = await setup.connected('C')
    setup.links.drained(gateway)
    expect([offered(gateway), offered(elsewhere), offersOn('A')]).toEqual([['u1'], [], ['A u1']])
    setup.links.drained(gateway)
    expect(offered(gateway)).toEqual(['u1'])
  })

  test('of a device without WELCOME are recorded but not sent', async () => {
    const link = setup.connect()
    link.hello('A')
    expect([send(), offersOn('A'), offered(link)]).toEqual([true, ['A u1'], []])
    await setup.settle()
    expect(offered(link)).toEqual([])
    expect([send(), offered(link)]).toEqual([true, ['u1']])
  })

  test('of a device that moved do not end with its first connection', async () => {
    const first = await setup.connected('A')
    send()
    const found = setup.links.linkedOf('default', 'A')
    await setup.connected('A')
    expect(found && setup.links.offers.offeredOn(found.link)).toEqual([])
    first.close()
    expect(offersOn('A')).toEqual([])
  })

  test('end with their connection, or when they are forgotten by the name of the device', async () => {
    const a = await setup.connected('A')
    send()
    setup.links.offers.forget('default', 'A')
    expect(offersOn('A')).toEqual([])
    send()
    const link = setup.links.linkedOf('default', 'A')?.link
    expect(link).toBeDefined()
    a.close()
    expect(link && setup.links.offers.offeredOn(link)).toEqual([])
    expect(setup.links.offers.sentCount).toBe(2)
  })
})
