import { appendFile, mkdir, mkdtemp, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { FileBlobs } from '#store/blobs'
import { FirmwareFixture, sha256Of } from '#test/routes/firmware-fixture'
import { memoryStorage } from '#test/store/memory'

/** Contract 6, images; RFC 9110 §13, §14. */

const image = Buffer.from(Array.from({ length: 90_000 }, (_, index) => index % 251))
const sha256 = sha256Of(image)

const fixture = await FirmwareFixture.open()
afterAll(() => fixture.close())
await fixture.upload('/updates/projects/boiler/releases/1.5.0', image)

/** The image URL that a device receives. */
const pathOf = (of = sha256, device = 'SENSOR-1', expiresAt = Date.now() + 60_000) =>
  `/updates/images/${of}?${(fixture.assembly.context.firmware.imageUrls as { queryOf(...of: unknown[]): string }).queryOf(of, device, expiresAt)}`

const get = (headers: Record<string, string> = {}, path = pathOf()) => fixture.call('GET', path, { headers })

test('the whole image is returned', async () => {
  const { status, headers, bytes } = await get()
  expect([status, bytes.equals(image)]).toEqual([200, true])
  expect(
    Object.fromEntries(
      ['content-length', 'etag', 'accept-ranges', 'content-type'].map((name) => [name, headers.get(name)]),
    ),
  ).toEqual({
    'content-length': '90000',
    etag: `"${sha256}"`,
    'accept-ranges': 'bytes',
    'content-type': 'application/octet-stream',
  })
})

test.each([
  ['bytes=0-0', 0, 1],
  ['bytes=65535-65536', 65_535, 65_537],
  ['bytes=-10', 89_990, 90_000],
])('a range of the image is returned: %s', async (range, from, to) => {
  for (const more of [{}, { 'if-range': `"${sha256}"` }]) {
    const { status, headers, bytes } = await get({ range, ...more })
    expect([status, headers.get('content-range')]).toEqual([206, `bytes ${from}-${to - 1}/90000`])
    expect(headers.get('content-length')).toBe(String(to - from))
    expect(bytes.equals(image.subarray(from, to))).toBe(true)
  }
})

test('a range after the end is refused', async () => {
  const { status, headers, bytes } = await get({ range: 'bytes=90000-' })
  expect([status, headers.get('content-range'), bytes.length]).toEqual([416, 'bytes */90000', 0])
})

test.each([`"${sha256}"`, `"x", W/"${sha256}"`, '*'])('an unchanged image is 304: %s', async (known) => {
  const { status, headers, bytes } = await get({ 'if-none-match': known })
  expect([status, headers.get('etag'), bytes.length]).toEqual([304, `"${sha256}"`, 0])
})

test('a changed image is returned in full', async () => {
  expect((await get({ 'if-none-match': '"x"' })).status).toBe(200)
})

test('HEAD returns the same headers without the body', async () => {
  const { status, headers, bytes } = await fixture.call('HEAD', pathOf())
  expect([status, headers.get('content-length'), bytes.length]).toEqual([200, '90000', 0])
  const part = await fixture.call('HEAD', pathOf(), { headers: { range: 'bytes=0-9' } })
  // RFC 9110 §14.2: ranges apply only to GET.
  expect([part.status, part.headers.get('content-length')]).toEqual([200, '90000'])
  expect(fixture.assembly.context.firmware.downloads.atOnce).toBe(0)
})

test('an unsigned URL is refused without a text', async () => {
  const there = new URL(pathOf(), 'http://host').searchParams
  const paths = [
    `/updates/images/${sha256}`,
    `/updates/images/${sha256}?${new URLSearchParams({ ...Object.fromEntries(there), device: 'SENSOR-2' })}`,
    `${pathOf()}&sig=again`,
    `/updates/images/${'0'.repeat(64)}?${there}`,
    pathOf(sha256, 'SENSOR-1', Date.now() - 1),
  ]
  for (const path of paths) {
    const { status, bytes } = await get({}, path)
    expect([path, status, bytes.length]).toEqual([path, 403, 0])
  }
})

test.each<[string, (file: string) => Promise<unknown>]>([
  ['gone', (file) => rm(file)],
  ['cut off', (file) => truncate(file, 100)],
  ['emptied', (file) => truncate(file, 0)],
  ['longer than before', (file) => appendFile(file, 'x')],
  ['a folder', (file) => rm(file).then(() => mkdir(file))],
])('an image of a release whose file is %s at a start is 404 until it is uploaded again', async (_, damage) => {
  const folder = await mkdtemp(join(tmpdir(), 'images-'))
  const images = new FileBlobs({ folder, bytesMax: 1_000_000, headroomBytes: 0, now: Date.now })
  const backend = memoryStorage()
  const release = '/updates/projects/boiler/releases/1.5.0'
  const before = await FirmwareFixture.open({ images }, backend)
  await before.upload(release, image)
  await before.close()
  const file = join(folder, 'images', sha256)
  await damage(file)
  const after = await FirmwareFixture.open({ images }, backend)
  try {
    const { context } = after.assembly
    const query = (context.firmware.imageUrls as { queryOf(...of: unknown[]): string }).queryOf(
      sha256,
      'S',
      Date.now() + 60_000,
    )
    const ask = () => after.call('GET', `/updates/images/${sha256}?${query}`)
    await vi.waitFor(async () => expect((await ask()).status).toBe(404))
    if ((await stat(file).catch(() => undefined))?.isDirectory()) await rm(file, { recursive: true })
    expect((await after.upload(release, image)).status).toBe(200)
    const { status, bytes } = await ask()
    expect([status, bytes.equals(image)]).toEqual([200, true])
  } finally {
    await after.close()
    await rm(folder, { recursive: true })
  }
})

test('a missing image and an invalid name are 404', async () => {
  expect((await get({}, pathOf('0'.repeat(64)))).status).toBe(404)
  expect((await get({}, `/updates/images/${sha256.toUpperCase()}`)).status).toBe(404)
  expect((await get({}, '/updates/images/..%2f..%2fidentity.key')).status).toBe(404)
})
