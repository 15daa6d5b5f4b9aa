import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { Answer, Environment, StartedServer } from '#test/blackbox/started-server'
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

/** Uploads like `curl -T`: without type, with length. `query` starts with `?`. */
async function putImage(
  server: StartedServer,
  release: string,
  image: Uint8Array,
  { headers = {}, query = '' }: { readonly headers?: Environment; readonly query?: string } = {},
): Promise<Answer> {
  const path = `/updates/projects/${release.replace('/', '/releases/')}${query}`
  const response = await fetch(server.base + path, {
    method: 'PUT',
    headers,
    body: image as NonNullable<RequestInit['body']>,
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: text && JSON.parse(text) }
}

/** Creates the release `project/firmware` with its own image. */
export async function release(server: StartedServer, name: string, query = ''): Promise<Buffer> {
  const image = imageOf(`${name}${query}`)
  expect((await putImage(server, name, image, { query })).status).toBe(201)
  return image
}

export function put(server: StartedServer, path: string, body: unknown): Promise<Answer> {
  return server.ask(`/updates/projects/${path}`, { method: 'PUT', body })
}

export interface UpdateView {
  readonly status: string
  readonly firmware?: string
  readonly progress?: number
  readonly message?: string
}

/** The update of one firmware. */
async function updateOf(server: StartedServer, device: string, index = 0): Promise<UpdateView | undefined> {
  const { status, json } = await server.get(`/updates/${device}?depth=2`)
  expect(status).toBe(200)
  const { firmwares } = json as { firmwares: { index: number; update?: UpdateView }[] }
  return firmwares.find((firmware) => firmware.index === index)?.update
}

/** Waits until the update has this status. */
export function untilUpdate(server: StartedServer, device: string, status: string, index = 0): Promise<UpdateView> {
  let seen: UpdateView | undefined
  return until(
    async () => {
      seen = await updateOf(server, device, index)
      return seen?.status === status && seen
    },
    () => `${device} to be ${status}, it is ${JSON.stringify(seen)}`,
  )
}
