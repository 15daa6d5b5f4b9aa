import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { EventClient } from '#test/blackbox/event-client'
import type { Answer, Environment, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** What tests of firmware ask of a server. Contract 6. */

/** Bytes that are nobody else's. */
export function imageOf(name: string, bytes = 1_000): Buffer {
  const start = createHash('sha256').update(name).digest()
  return Buffer.alloc(bytes, start)
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** As `curl -T` does it: no type, the length known. `query` with its `?`. */
export async function putImage(
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

/** `project/firmware`, with an image of its own. */
export async function release(server: StartedServer, name: string, query = ''): Promise<Buffer> {
  const image = imageOf(`${name}${query}`)
  expect((await putImage(server, name, image, { query })).status).toBe(201)
  return image
}

export function put(server: StartedServer, path: string, body: unknown): Promise<Answer> {
  return server.ask(`/updates/projects/${path}`, { method: 'PUT', body })
}

/** Asks for an update by hand, and says what became of it. */
export async function trigger(server: StartedServer, device: string): Promise<unknown> {
  const { status, json } = await server.ask(`/updates/${device}`, { method: 'POST' })
  expect(status).toBe(200)
  return json
}

export interface ShownUpdate {
  readonly status: string
  readonly firmware?: string
  readonly progress?: number
  readonly message?: string
}

/** Where the update of one firmware stands. */
async function standing(server: StartedServer, device: string, index = 0): Promise<ShownUpdate | undefined> {
  const { status, json } = await server.get(`/updates/${device}?depth=2`)
  expect(status).toBe(200)
  const { firmwares } = json as { firmwares: { index: number; update?: ShownUpdate }[] }
  return firmwares.find((firmware) => firmware.index === index)?.update
}

/** Waits until it stands there. */
export function comesTo(server: StartedServer, device: string, status: string, index = 0): Promise<ShownUpdate> {
  let seen: ShownUpdate | undefined
  return until(
    async () => {
      seen = await standing(server, device, index)
      return seen?.status === status && seen
    },
    () => `${device} to be ${status}, it is ${JSON.stringify(seen)}`,
  )
}

/** `0 STARTED 1.1.0 40% words` of each event about a device's updates, in order. */
export async function toldOf(server: StartedServer, events: EventClient, device: string): Promise<readonly string[]> {
  await events.caughtUp(server)
  return events
    .of('UPDATE_STATUS')
    .filter(({ deviceIdentifier }) => deviceIdentifier === device)
    .map(({ index, status, firmware, progress, message }) =>
      [index, status, firmware, progress === undefined ? undefined : `${progress}%`, message]
        .filter((part) => part !== undefined)
        .join(' '),
    )
}
