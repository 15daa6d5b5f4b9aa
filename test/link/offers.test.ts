import { beforeEach, describe, expect, test } from 'vitest'
import { ImageUrls } from '#access/image-urls'
import { jsonCodec } from '#link/codecs'
import { imageUrlLifetimeMs, type OfferUrlParts, offerUrl } from '#link/offers'
import type { OfferedFirmware } from '#model/update-offer'
import { LinkStage, type TestLink } from '#test/link/link-stage'
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

describe('the address of an image', () => {
  const path = `/api/v1/updates/images/${sha256}?device=A%261&exp=${world.now() + imageUrlLifetimeMs}&sig=`

  test.each<[string, readonly string[], string]>([
    ['the host that the link came to', [], 'http://came.here:80'],
    ['the public URL', ['https://we.example'], 'https://we.example'],
    ['its path in front of ours', ['https://we.example/iot/', 'https://other.example'], 'https://we.example/iot'],
  ])('begins with %s', (_, publicUrls, start) => {
    expect(urlOf({ publicUrls })?.startsWith(start + path)).toBe(true)
  })

  test('is good for this image and device, which is named with its tenant unless that is the default one', () => {
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
      expect(imageUrls.isGood(sha256, query, world.now())).toBe(true)
    }
  })

  test('is not known where the host can be none', () => {
    expect(urlOf({}, '')).toBeUndefined()
  })

  test('of another server is as that said it', () => {
    const make = offerUrl({ world, imageUrls, publicUrls: ['https://we.example'] })
    const elsewhere = { ...offer, url: 'https://elsewhere.example/i' }
    expect(make({ tenant: 'default', codec: jsonCodec, origin: '' }, 'A', elsewhere)).toBe(
      'https://elsewhere.example/i',
    )
  })
})

describe('offers', () => {
  let room: LinkStage

  beforeEach(async () => {
    const ownWorld = new ManualWorld()
    const parts = { world: ownWorld, imageUrls, publicUrls: [] }
    room = await LinkStage.open({ world: ownWorld, offerUrl: offerUrl(parts) })
  })

  async function linked(device = 'A', link = room.connect()): Promise<TestLink> {
    link.hello(device)
    await room.settle()
    return link
  }

  const send = (device = 'A', id = 'u1') => room.links.offers.send('default', device, id, offer)
  const heard = (link: TestLink) => link.heard.filter(({ type }) => type === 'FIRMWARE').map(({ id }) => id)
  // Socket and link are two ends of one thing: which link it is, `linkedOf` says.
  const on = (device: string) => {
    const spoken = room.links.linkedOf('default', device)
    return spoken ? room.links.offers.offeredOn(spoken.link).map((open) => `${open.device} ${open.id}`) : undefined
  }

  test('go to the link that speaks for the device', async () => {
    const [a, b] = [await linked('A'), await linked('B')]
    expect([send('A'), send('B', 'u2'), send('C')]).toEqual([true, true, false])
    expect([heard(a), heard(b), on('A'), on('B')]).toEqual([['u1'], ['u2'], ['A u1'], ['B u2']])
    expect(a.heard.at(-1)?.url).toMatch(/^http:\/\/here\/api\/v1\/updates\/images\//)
  })

  test('are made to nobody on a link that is closed, or about to be', async () => {
    const a = await linked('A')
    room.links.keyEnded('default', 'none')
    room.links.dropped(a)
    expect(send()).toBe(false)
    a.close()
    expect(send()).toBe(false)
    expect(heard(a)).toEqual([])
  })

  test('wait while a link has too much unsent, and leave once it has room; those that are over do not', async () => {
    const gateway = room.connect()
    for (const device of ['A', 'B', 'C']) await linked(device, gateway)
    gateway.buffered = 600 * 1024
    expect([send('A'), send('B', 'u2'), send('C', 'u3')]).toEqual([true, true, true])
    expect([heard(gateway), on('A')]).toEqual([[], ['A u1', 'B u2', 'C u3']])
    room.links.offers.forget('default', 'B')
    room.links.drained(gateway)
    expect(heard(gateway)).toEqual([])
    gateway.buffered = 0
    const elsewhere = await linked('C')
    room.links.drained(gateway)
    expect([heard(gateway), heard(elsewhere), on('A')]).toEqual([['u1'], [], ['A u1']])
    room.links.drained(gateway)
    expect(heard(gateway)).toEqual(['u1'])
  })

  test('of a device that was not welcomed yet are known, and not said', async () => {
    const link = room.connect()
    link.hello('A')
    expect([send(), on('A'), heard(link)]).toEqual([true, ['A u1'], []])
    await room.settle()
    expect(heard(link)).toEqual([])
    expect([send(), heard(link)]).toEqual([true, ['u1']])
  })

  test('of a device that another link speaks for are not lost with the first', async () => {
    const first = await linked('A')
    send()
    const spoken = room.links.linkedOf('default', 'A')
    await linked('A')
    expect(spoken && room.links.offers.offeredOn(spoken.link)).toEqual([])
    first.close()
    expect(on('A')).toEqual([])
  })

  test('are forgotten with their link, and by name', async () => {
    const a = await linked('A')
    send()
    room.links.offers.forget('default', 'A')
    expect(on('A')).toEqual([])
    send()
    const link = room.links.linkedOf('default', 'A')?.link
    expect(link).toBeDefined()
    a.close()
    expect(link && room.links.offers.offeredOn(link)).toEqual([])
    expect(room.links.offers.sentCount).toBe(2)
  })
})
