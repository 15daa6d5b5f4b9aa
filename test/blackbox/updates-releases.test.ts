import { createHash, createHmac } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** Contract 6, over the built server and its disk. */

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
