import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { Answer, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** Requests for firmware. Contract 6. */

/** An image that depends on the name. */
export function imageOf(name: string, bytes = 1_000): Buffer {
  const start = createHash('sha256').update(name).digest()
  return Buffer.alloc(bytes, start)
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Creates the release `project/firmware` with its own image. */
export async function release(server: StartedServer, name: string): Promise<void> {
  const body = new Uint8Array(imageOf(name))
  const url = `${server.base}/updates/projects/${name.replace('/', '/releases/')}`
  expect((await fetch(url, { method: 'PUT', body })).status).toBe(201)
}

export function put(server: StartedServer, path: string, body: unknown): Promise<Answer> {
  return server.ask(`/updates/projects/${path}`, { method: 'PUT', body })
}

/** Waits until the update of the first firmware has this status. */
export async function untilUpdate(server: StartedServer, device: string, expected: string): Promise<void> {
  let seen: string | undefined
  await until(
    async () => {
      const { status, json } = await server.get(`/updates/${device}?depth=2`)
      expect(status).toBe(200)
      seen = (json as { firmwares: { update?: { status: string } }[] }).firmwares[0]?.update?.status
      return seen === expected
    },
    () => `${device} to be ${expected}, it is ${seen}`,
  )
}
