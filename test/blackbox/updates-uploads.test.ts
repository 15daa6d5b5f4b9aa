import { existsSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { imageOf, putImage, release, sha256Of, trigger } from '#test/blackbox/firmware-fleet'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { UpdatingDevice } from '#test/blackbox/updating-device'

/** Images on their way in, and what happens to them while somebody takes them away. Contract 6. */

const bytesMax = 1_048_576
let server: StartedServer
const open: UpdatingDevice[] = []
beforeAll(async () => {
  server = await StartedServer.start({ IMAGE_BYTES_MAX: String(bytesMax), DISABLE_CONNECT_UPDATE: 'on' })
})
afterAll(async () => {
  for (const device of open) device.cut()
  await server?.finish()
})

const path = (name: string) => `/api/v1/updates/projects/${name.replace('/', '/releases/')}`
const remove = (name: string) => server.ask(path(name).replace('/api/v1', ''), { method: 'DELETE' })
const range = (from: number, image: Buffer) => ({
  'content-range': `bytes ${from}-${image.length - 1}/${image.length}`,
})

/** Begins to send an image whole; the rest of it never comes. */
function begin(name: string, image: Buffer, bytes: number): { cut(): void } {
  const socket = connect(server.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`PUT ${path(name)} HTTP/1.1\r\nHost: a\r\nContent-Length: ${image.length}\r\n\r\n`)
  socket.write(image.subarray(0, bytes))
  return { cut: () => socket.destroy() }
}

/** How much of an image there is. */
async function received(name: string, { length }: Buffer): Promise<number> {
  const headers = { 'content-range': `bytes */${length}` }
  const { json } = await putImage(server, name, new Uint8Array(), { headers })
  return (json as { received: number }).received
}

test.each([
  ['the connection', async (cut: () => void) => cut()],
  [
    'the server',
    async (cut: () => void) => {
      await server.kill()
      cut()
      await server.startAgain()
    },
  ],
])('an upload that is cut off by the death of %s goes on where it was', async (by, die) => {
  const name = `${by.replace(' ', '-')}/1.1.0`
  const image = imageOf(name, 900_000)
  const upload = begin(name, image, 500_000)
  const uploads = join(server.dataFolder, 'uploads')
  await until(() => existsSync(uploads) && readdirSync(uploads).length > 0, 'the upload to begin')
  expect((await putImage(server, name, image)).status).toBe(409)
  await die(upload.cut)
  // What is written of it depends on the moment.
  const from = await until(async () => {
    const bytes = await received(name, image)
    const { status } = await putImage(server, name, image.subarray(bytes, bytes + 1), {
      headers: { 'content-range': `bytes ${bytes}-${bytes}/${image.length}` },
    })
    return status === 202 && bytes + 1
  }, 'the upload to be given up')
  expect(from).toBeLessThanOrEqual(500_001)
  const wrong = await putImage(server, name, image.subarray(from + 1), { headers: range(from + 1, image) })
  expect([wrong.status, wrong.json]).toEqual([409, { error: `bytes from ${from} are expected` }])
  const done = await putImage(server, name, image.subarray(from), { headers: range(from, image) })
  expect([done.status, done.json]).toMatchObject([201, { sha256: sha256Of(image), size: image.length }])
  expect(readdirSync(uploads)).toEqual([])

  // Whoever did not hear that answer asks: there is nothing left to send.
  expect(await received(name, image)).toBe(image.length)
  const asks = (query: string, size = image.length) =>
    putImage(server, name, new Uint8Array(), { query, headers: { 'content-range': `bytes */${size}` } })
  const asked = [await asks(`?sha256=${sha256Of(image)}`), await asks(`?sha256=${'0'.repeat(64)}`), await asks('', 9)]
  expect(asked.map(({ status }) => status)).toEqual([202, 409, 409])
})

test('an image that is too large is refused, with its length and without, and leaves nothing', async () => {
  const image = imageOf('too large', bytesMax + 1)
  const refusals = [
    await putImage(server, 'large/1.1.0', image),
    await putImage(server, 'large/1.1.0', image.subarray(0, 9), {
      headers: { 'content-range': `bytes 0-8/${bytesMax + 1}` },
    }),
  ]
  expect(refusals.map(({ status }) => status)).toEqual([413, 413])
  const socket = connect(server.port, '127.0.0.1')
  let heard = ''
  socket.on('data', (data) => {
    heard += data
  })
  socket.on('error', () => {})
  socket.write(`PUT ${path('large/1.1.0')} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`)
  for (let sent = 0; sent <= bytesMax; sent += 65_536) {
    socket.write('10000\r\n')
    socket.write(image.subarray(0, 65_536))
    socket.write('\r\n')
  }
  socket.write('0\r\n\r\n')
  await until(
    () => heard.startsWith('HTTP/1.1 413'),
    () => `a refusal, not ${heard}`,
  )
  socket.destroy()
  expect((await server.get('/updates/projects/large/releases')).status).toBe(404)
  await until(() => readdirSync(join(server.dataFolder, 'uploads')).length === 0, 'nothing to be left')
})

test('a release in use stays; a device that is removed in the middle of its update is in nobody’s way', async () => {
  const image = await release(server, 'used/1.1.0')
  const device = await UpdatingDevice.linked(server, 'USED', { project: 'used' })
  open.push(device)
  const triggered = trigger(server, 'USED')
  const offer = await device.offered()
  device.says(offer, 'DOWNLOADING', { progress: 10 })
  expect(await triggered).toEqual({ status: 'STARTED' })
  const refused = await remove('used/1.1.0')
  expect([refused.status, refused.json]).toEqual([409, { error: 'the release is in use' }])
  expect((await server.ask('/devices/USED', { method: 'DELETE' })).status).toBe(204)
  device.says(offer, 'INSTALLED')
  await device.client.take({ type: 'ERROR', code: 'UNKNOWN_DEVICE' })
  expect((await server.get('/updates/USED')).status).toBe(404)
  expect((await remove('used/1.1.0')).status).toBe(204)
  await until(() => !existsSync(join(server.dataFolder, 'images', sha256Of(image))), 'the image to go')
  expect((await fetch(offer.url)).status).toBe(404)

  // Another device of that name knows nothing of it.
  await device.hello()
  device.says(offer, 'INSTALLED')
  expect((await server.get('/updates/USED?depth=2')).json).toMatchObject({
    firmwares: [{ firmware: '1.0.0', index: 0, updateAvailable: false }],
  })
})

test('a device that is removed while somebody waits for it: he hears that there is none', async () => {
  await release(server, 'waited/1.1.0')
  const device = await UpdatingDevice.linked(server, 'WAITED', { project: 'waited' })
  open.push(device)
  const triggered = server.ask('/updates/WAITED', { method: 'POST' })
  await device.offered()
  await server.ask('/devices/WAITED', { method: 'DELETE' })
  expect((await triggered).status).toBe(404)
})
