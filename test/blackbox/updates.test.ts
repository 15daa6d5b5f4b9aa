import { createHash, createHmac } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { EventClient, streamHead } from '#test/blackbox/event-client'
import { comesTo, imageOf, putImage, release, sha256Of, toldOf, trigger } from '#test/blackbox/firmware-calls'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { download, UpdatingDevice } from '#test/blackbox/updating-device'

/** Firmware over the disk and the death of the server. Each state of an update is shown in `test/firmware`. Contract 6. */

const hookSecret = 'of-the-update-server-0123456789abcdef'
const image = Buffer.alloc(300_000, 'firmware ')
const sha256 = createHash('sha256').update(image).digest('hex')
const at = '/updates/projects/boiler/releases/1.5.0'

let server: StartedServer
afterEach(() => server?.discard())

test('an image comes in parts over the death of the process, lies on the disk, and goes with its release', async () => {
  server = await StartedServer.start({ UPDATE_HOOK_SECRET: hookSecret })
  const put = (from: number, to: number) =>
    fetch(`${server.base}${at}`, {
      method: 'PUT',
      headers: { 'content-range': `bytes ${from}-${to - 1}/${image.length}` },
      body: image.subarray(from, to),
    })
  expect((await put(0, 100_000)).status).toBe(202)
  await server.kill()
  await server.startAgain()
  const asked = await fetch(`${server.base}${at}`, {
    method: 'PUT',
    headers: { 'content-range': `bytes */${image.length}` },
  })
  expect(await asked.json()).toEqual({ received: 100_000, size: image.length })
  expect((await put(100_000, image.length)).status).toBe(201)
  const file = join(server.dataFolder, 'images', sha256)
  expect(existsSync(file)).toBe(true)
  await server.kill()
  await server.startAgain()
  expect((await server.get(at)).json).toMatchObject({ sha256, size: image.length })
  expect((await server.get(`/updates/images/${sha256}`)).status).toBe(403)

  const path = '/api/v1/updates/hook/boiler'
  const time = Math.floor(Date.now() / 1000)
  const signature = createHmac('sha256', hookSecret).update(`${time}.${path}.`).digest('hex')
  const headers = { 'x-hook-signature': `t=${time},sha256=${signature}` }
  expect((await server.ask('/updates/hook/boiler', { method: 'POST', headers })).status).toBe(204)
  const bad = { 'x-hook-signature': `t=${time},sha256=${'0'.repeat(64)}` }
  expect((await server.ask('/updates/hook/boiler', { method: 'POST', headers: bad })).status).toBe(401)
  expect((await server.ask('/updates/hook/boiler', { method: 'POST' })).status).toBe(204)

  expect((await server.ask(at, { method: 'DELETE' })).status).toBe(204)
  await until(() => !existsSync(file), 'the image to go')
  await server.finish()
})

test('an upload that is cut off by SIGKILL goes on where it was', async () => {
  server = await StartedServer.start()
  const name = 'cut/1.1.0'
  const large = imageOf(name, 900_000)
  const socket = connect(server.port, '127.0.0.1').on('error', () => {})
  const path = '/api/v1/updates/projects/cut/releases/1.1.0'
  socket.write(`PUT ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${large.length}\r\n\r\n`)
  socket.write(large.subarray(0, 500_000))
  const uploads = join(server.dataFolder, 'uploads')
  await until(() => existsSync(uploads) && readdirSync(uploads).length > 0, 'the upload to begin')
  expect((await putImage(server, name, large)).status).toBe(409)
  await server.kill()
  socket.destroy()
  await server.startAgain()
  const range = (value: string) => ({ headers: { 'content-range': `bytes ${value}/${large.length}` } })
  const { json } = await putImage(server, name, new Uint8Array(), range('*'))
  const { received } = json as { received: number }
  expect(received).toBeLessThanOrEqual(500_000)
  const done = await putImage(server, name, large.subarray(received), range(`${received}-${large.length - 1}`))
  expect([done.status, done.json]).toMatchObject([201, { sha256: sha256Of(large), size: large.length }])
  expect(readdirSync(uploads)).toEqual([])
  await server.finish()
})

test('an update goes on over SIGKILL: the device is offered the same again, and one event names its end', async () => {
  server = await StartedServer.start({ DISABLE_CONNECT_UPDATE: 'on' })
  const bytes = await release(server, 'boiler/1.1.0')
  const device = await UpdatingDevice.linked(server, 'KILLED')
  trigger(server, 'KILLED').catch(() => undefined)
  const { id } = await device.offered()
  device.says({ id }, 'DOWNLOADING', { progress: 0 })
  await comesTo(server, 'KILLED', 'DOWNLOADING')
  await server.kill()
  await server.startAgain()
  const since = await streamHead(server)
  await device.reboot(server)
  // The address of the image is of the server of now.
  const again = await device.offered({ id })
  expect((await download(again)).equals(bytes)).toBe(true)
  device.says({ id }, 'INSTALLING')
  await comesTo(server, 'KILLED', 'INSTALLING')
  await server.kill()
  await server.startAgain()
  await device.reboot(server, '1.1.0')
  await comesTo(server, 'KILLED', 'DONE')
  const events = await EventClient.open(server, { ...since })
  expect((await toldOf(server, events, 'KILLED')).filter((line) => line.includes('DONE'))).toEqual(['0 DONE 1.1.0'])
  expect(device.offers).toEqual([])
  events.cut()
  device.cut()
  await server.finish()
})
