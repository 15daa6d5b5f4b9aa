import { existsSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { imageOf, putImage, sha256Of } from '#test/blackbox/firmware-calls'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** Firmware images on disk when the server is killed. `test/firmware` tests updates over restarts. Contract 6. */

let server: StartedServer
afterEach(() => server?.discard())

test('an upload that SIGKILL interrupted continues, and the image is deleted with its release', async () => {
  server = await StartedServer.start()
  const name = 'cut/1.1.0'
  const path = '/updates/projects/cut/releases/1.1.0'
  const image = imageOf(name, 900_000)
  const sha256 = sha256Of(image)
  const socket = connect(server.port, '127.0.0.1').on('error', () => {})
  socket.write(`PUT /api/v1${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${image.length}\r\n\r\n`)
  socket.write(image.subarray(0, 500_000))
  const uploads = join(server.dataFolder, 'uploads')
  await until(() => existsSync(uploads) && readdirSync(uploads).length > 0, 'the upload to begin')
  expect((await putImage(server, name, image)).status).toBe(409)
  await server.kill()
  socket.destroy()
  await server.startAgain()
  const range = (value: string) => ({ headers: { 'content-range': `bytes ${value}/${image.length}` } })
  const { json } = await putImage(server, name, new Uint8Array(), range('*'))
  const { received } = json as { received: number }
  expect(received).toBeLessThanOrEqual(500_000)
  const done = await putImage(server, name, image.subarray(received), range(`${received}-${image.length - 1}`))
  expect([done.status, done.json]).toMatchObject([201, { sha256, size: image.length }])
  expect(readdirSync(uploads)).toEqual([])

  await server.kill()
  await server.startAgain()
  expect((await server.get(path)).json).toMatchObject({ sha256, size: image.length })
  const file = join(server.dataFolder, 'images', sha256)
  expect(existsSync(file)).toBe(true)
  expect((await server.ask(path, { method: 'DELETE' })).status).toBe(204)
  await until(() => !existsSync(file), 'the image to be deleted')
  await server.finish()
})
