import { afterAll, expect, test } from 'vitest'
import { anonymous } from '#access/built-in-callers'
import { assemble } from '#app/assembly'
import type { Caller } from '#model/caller'
import { deviceRoutes } from '#routes/devices'
import { metaRoutes } from '#routes/meta'
import { openHttp, world } from '#test/http/http-fixture'
import { memoryServerOptions } from '#test/memory-server'

const options = memoryServerOptions(world)
const retention = { bytesMax: 2 ** 24, ageMsMax: 3_600_000 }
const assembly = assemble({ ...options, storage: { ...options.storage, retention } })
await assembly.open()
const http = await openHttp({
  bindings: [...deviceRoutes(assembly.context), ...metaRoutes(assembly.context)],
  authenticate: (request): Caller => {
    const user = request.header('authorization')
    return { ...anonymous, user, session: { kind: 'session', tenant: 'default', id: user } }
  },
})
afterAll(async () => {
  await http.server.close()
  await assembly.close()
})

async function ask(authorization: string, method: string, path: string, body: object): Promise<number> {
  const headers = { authorization, 'content-type': 'application/json' }
  return (await fetch(`${http.base}${path}`, { method, headers, body: JSON.stringify(body) })).status
}

test('small patches of a large record do not push out the events of others', async () => {
  expect(await ask('ann', 'POST', '/devices', { deviceIdentifier: 'D1', meta: { big: 'x'.repeat(64_000) } })).toBe(201)
  const statuses = []
  for (let count = 0; count < 140; count++) statuses.push(await ask('mallory', 'PATCH', '/meta/D1', { count }))
  // 8 MiB at once; a slow machine allows a few more over time.
  expect(statuses.slice(0, 132).every((status) => status === 200)).toBe(true)
  expect(statuses).toContain(429)
  expect(await ask('ann', 'PATCH', '/meta/D1', { count: 'by ann' })).toBe(200)
})
