import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { projectAddress } from '#actors/project/state'
import { releasesMax } from '#model/release'
import { putRelease } from '#test/actors/acting-project'
import { FirmwareFixture, imageBytesMax, onUpdates, sha256Of } from '#test/routes/firmware-fixture'
import { memoryStorage } from '#test/store/memory'

/** Contract 6, built-in update server: releases and their images. */

const releases = '/updates/projects/boiler/releases'
const at = `${releases}/1.5.0`
const image = Buffer.alloc(70_000, 'firmware ')

let fixture: FirmwareFixture
beforeEach(async () => {
  fixture = await FirmwareFixture.open()
})
afterEach(() => fixture.close())

const sizeOf = (bytes: Uint8Array | string) => fixture.assembly.context.firmware.images.sizeOf(sha256Of(bytes))

/** Bytes in pieces without a length; `between` runs after the first one. */
async function* pieces(bytes: Uint8Array, between: () => Promise<void> = async () => {}) {
  yield bytes.subarray(0, 1000)
  await between()
  yield bytes.subarray(1000)
}
const streamed = (path: string, body: AsyncIterable<Uint8Array>, more: { by?: string; headers?: object } = {}) =>
  fixture.call('PUT', path, { body: body as unknown as RequestInit['body'], duplex: 'half', ...more } as RequestInit)

describe('an image', () => {
  test('becomes a release when it is complete', async () => {
    const { status, json, headers } = await fixture.upload(at, image)
    expect([status, headers.get('location')]).toEqual([201, `/api/v1${at}`])
    const release = { firmware: '1.5.0', index: 0, sha256: sha256Of(image), size: image.length }
    expect(json).toEqual({ ...release, createdAt: expect.any(Number), createdBy: 'crn#user:anonymous' })
    expect((await fixture.call('GET', at)).json).toEqual(json)
    expect((await fixture.call('GET', releases)).json).toEqual([json])
    expect(await sizeOf(image)).toBe(image.length)
  })

  test.each(['application/octet-stream', 'application/json', 'text/plain; charset=x', 'nonsense'])(
    'may have any type: %s',
    async (type) => {
      const { status } = await fixture.upload(at, image, { 'content-type': type })
      expect(status).toBe(201)
    },
  )

  test('may not be compressed', async () => {
    for (const coding of ['gzip', 'identity, br']) {
      expect((await fixture.upload(at, image, { 'content-encoding': coding })).status).toBe(415)
    }
    expect((await fixture.call('GET', at)).status).toBe(404)
    expect((await fixture.upload(at, image, { 'content-encoding': 'identity' })).status).toBe(201)
  })

  test('may be uploaded without a length', async () => {
    expect((await streamed(at, pieces(image))).json).toMatchObject({ sha256: sha256Of(image), size: image.length })
  })

  test('is compared with its expected digest', async () => {
    const wrong = await fixture.upload(`${at}?sha256=${'0'.repeat(64)}`, image)
    expect([wrong.status, wrong.json]).toEqual([400, { error: `the SHA-256 of the image is ${sha256Of(image)}` }])
    expect([await sizeOf(image), (await fixture.call('GET', at)).status]).toEqual([undefined, 404])
    expect((await fixture.upload(`${at}?sha256=${sha256Of(image)}`, image)).status).toBe(201)
  })

  test('may not be empty', async () => {
    const whole = await fixture.upload(at, '')
    expect([whole.status, whole.json]).toEqual([400, { error: 'the image is empty' }])
    async function* nothing() {}
    const chunked = await streamed(at, nothing())
    expect([chunked.status, chunked.json]).toEqual([400, { error: 'the image is empty' }])
  })

  test('may not exceed the size limit', async () => {
    expect((await fixture.upload(at, Buffer.alloc(imageBytesMax))).status).toBe(201)
    const larger = Buffer.alloc(imageBytesMax + 1, 'x')
    const other = `${releases}/1.6.0`
    expect((await fixture.upload(other, larger)).status).toBe(413)
    expect((await streamed(other, pieces(larger))).status).toBe(413)
    const range = { 'content-range': `bytes 0-9/${imageBytesMax + 1}` }
    expect((await fixture.upload(other, Buffer.alloc(10), range)).status).toBe(413)
  })

  test('is refused if the right ended meanwhile', async () => {
    const eve = fixture.caller('eve', onUpdates(['create']))
    const lost = await streamed(
      at,
      pieces(image, async () => eve.change(onUpdates(['read']))),
      { by: 'eve' },
    )
    expect([lost.status, lost.bytes.length]).toEqual([403, 0])
    expect([await sizeOf(image), (await fixture.call('GET', at)).status]).toEqual([undefined, 404])
  })
})

describe('an upload in parts', () => {
  const part = (from: number, to: number, size = image.length) =>
    fixture.upload(at, image.subarray(from, to), { 'content-range': `bytes ${from}-${to - 1}/${size}` })
  const asked = () => fixture.upload(at, '', { 'content-range': `bytes */${image.length}` })

  test('does not restore a deleted release by a repeated part', async () => {
    expect((await fixture.upload(at, image)).status).toBe(201)
    expect((await part(0, 30_000)).status).toBe(202)
    expect((await fixture.call('DELETE', at)).status).toBe(204)
    expect((await asked()).json).toEqual({ received: 0, size: image.length })
  })

  test('continues one part after the other', async () => {
    expect((await asked()).json).toEqual({ received: 0, size: image.length })
    const first = await part(0, 30_000)
    expect([first.status, first.json]).toEqual([202, { received: 30_000, size: image.length }])
    expect((await asked()).json).toEqual({ received: 30_000, size: image.length })
    expect((await part(30_000, 60_000)).json).toEqual({ received: 60_000, size: image.length })
    expect((await fixture.call('GET', at)).status).toBe(404)
    const last = await part(60_000, image.length)
    expect([last.status, last.json.sha256]).toEqual([201, sha256Of(image)])
    // A client that missed the answer has nothing left to send.
    expect((await asked()).json).toEqual({ received: image.length, size: image.length })
  })

  test('does not continue with another size', async () => {
    await part(0, 30_000)
    const other = await part(30_000, 40_000, 40_000)
    expect([other.status, other.json]).toEqual([409, { error: 'bytes from 0 are expected' }])
    const shorter = await fixture.upload(at, '', { 'content-range': 'bytes */30000' })
    expect([shorter.status, shorter.json]).toEqual([202, { received: 0, size: 30_000 }])
    expect((await asked()).json).toEqual({ received: 30_000, size: image.length })
    expect((await fixture.call('GET', at)).status).toBe(404)
  })

  test('completes a release that was not created, on the next request', async () => {
    const rest = { 'content-range': `bytes 30000-${image.length - 1}/${image.length}` }
    expect((await part(0, 30_000)).status).toBe(202)
    const eve = fixture.caller('eve', onUpdates(['create']))
    const last = pieces(image.subarray(30_000), async () => eve.change(onUpdates(['read'])))
    expect((await streamed(at, last, { by: 'eve', headers: rest })).status).toBe(403)
    // All bytes are stored, and none is left to send.
    expect((await part(image.length - 1, image.length)).status).toBe(409)
    const range = { 'content-range': `bytes */${image.length}` }
    expect((await fixture.upload(`${at}?sha256=${sha256Of(image)}`, '', range)).json).toMatchObject({
      sha256: sha256Of(image),
      size: image.length,
    })
    expect((await fixture.call('GET', at)).status).toBe(200)
    expect((await asked()).json).toEqual({ received: image.length, size: image.length })
  })

  test('replaces a lost image', async () => {
    const backend = memoryStorage()
    await fixture.close()
    fixture = await FirmwareFixture.open({}, backend)
    expect((await fixture.upload(at, image)).status).toBe(201)
    await fixture.close()
    // Only the database was restored.
    fixture = await FirmwareFixture.open({}, backend)
    expect(await sizeOf(image)).toBeUndefined()
    expect((await asked()).json).toEqual({ received: 0, size: image.length })
    expect((await part(0, 30_000)).json).toEqual({ received: 30_000, size: image.length })
    expect((await asked()).json).toEqual({ received: 30_000, size: image.length })
    const last = await part(30_000, image.length)
    expect([last.status, last.json.sha256, await sizeOf(image)]).toEqual([200, sha256Of(image), image.length])
    expect((await asked()).json).toEqual({ received: image.length, size: image.length })
  })

  test('leaves no image if the release is refused', async () => {
    const boiler = projectAddress('default', 'boiler')
    for (let count = 0; count < releasesMax; count++) {
      await fixture.assembly.context.system.ask(boiler, putRelease(`1.0.${count}`))
    }
    expect((await part(0, 30_000)).status).toBe(202)
    const last = await part(30_000, image.length)
    expect([last.status, last.json]).toEqual([409, { error: `a project has at most ${releasesMax} releases` }])
    expect((await fixture.call('DELETE', `${releases}/1.0.0`)).status).toBe(204)
    expect((await asked()).json).toEqual({ received: 0, size: image.length })
  })

  test.each(['bytes 0-9', 'bytes 0-8/10', 'bytes */10'])(
    'needs a valid Content-Range of the right length: %j',
    async (range) => {
      const { status, json } = await fixture.upload(at, Buffer.alloc(10, 'x'), { 'content-range': range })
      expect([status, Object.keys(json)]).toEqual([400, ['error']])
    },
  )

  test('refuses a length in Content-Range that differs from the body', async () => {
    for (const last of [9_999, 69_999]) {
      const headers = { 'content-range': `bytes 0-${last}/80000` }
      expect((await streamed(at, pieces(image.subarray(0, 20_000)), { headers })).status).toBe(400)
    }
  })
})

describe('variants', () => {
  test('differ by hardware and index, and are listed in order', async () => {
    const names = [
      '1.10.0',
      '1.9.0?hardware=rev-b',
      '1.9.0',
      '1.9.0-rc.1',
      '1.10.0?hardware=rev-a&index=1',
      '2.0.0?index=1',
    ]
    for (const [place, name] of names.entries()) {
      const { status, headers } = await fixture.upload(`${releases}/${name}`, `image ${place}`)
      expect([status, headers.get('location')]).toEqual([201, `/api/v1${releases}/${name}`])
    }
    const listed = (await fixture.call('GET', releases)).json as {
      firmware: string
      hardware?: string
      index: number
    }[]
    expect(listed.map(({ firmware, hardware, index }) => [index, hardware, firmware])).toEqual([
      [0, undefined, '1.9.0-rc.1'],
      [0, undefined, '1.9.0'],
      [0, undefined, '1.10.0'],
      [0, 'rev-b', '1.9.0'],
      [1, undefined, '2.0.0'],
      [1, 'rev-a', '1.10.0'],
    ])
    expect((await fixture.call('GET', `${releases}/1.9.0?hardware=rev-b`)).json.sha256).toBe(sha256Of('image 1'))
    expect((await fixture.call('GET', `${releases}/1.9.0`)).json.sha256).toBe(sha256Of('image 2'))
    expect((await fixture.call('GET', `${releases}/2.0.0`)).status).toBe(404)
    expect((await fixture.call('DELETE', `${releases}/1.9.0?hardware=rev-c`)).status).toBe(404)
  })

  test.each(['?index=256', '?index=-1', '?index=x', '?hardware=a/b', '?hardware=', '?sha256=x', '?index=1&index=2'])(
    'with invalid values are refused: %s',
    async (query) => {
      const { status, json } = await fixture.upload(at + query, image)
      expect([status, json.error]).toEqual([400, 'Validation Error'])
    },
  )

  test.each(['1', 'v1.0.0', '1.0.0.0', '01.0.0'])('of an invalid version are not found: %s', async (version) => {
    expect((await fixture.upload(`${releases}/${version}`, image)).status).toBe(404)
  })
})
