import { createHash } from 'node:crypto'
import { WebSocket } from 'ws'
import { anonymous } from '#access/built-in-callers'
import type { Hello } from '#actors/device/commands'
import { deviceAddress } from '#actors/device/device'
import { putRollout } from '#api/update-projects'
import { type Assembly, assemble } from '#app/assembly'
import type { UpdateSettings } from '#firmware/options'
import { type Caller, unauthenticated } from '#model/caller'
import { type Grant, scopeOf } from '#model/scope'
import { bindingsOf, socketsOf } from '#routes/bindings'
import type { StorageBackend } from '#runtime/storage'
import { type HttpFixture, openHttp, world } from '#test/http/http-fixture'
import { memoryServerOptions } from '#test/memory-server'
import { operationOf } from '#test/routes/operation-of'
import { memoryStorage } from '#test/store/memory'
import { memoryBlobs } from '#test/store/memory-blobs'

export const imageBytesMax = 100_000
export const hookSecret = 'of the update server'

/** Grants on `updates`, for these devices. */
export const onUpdates = (
  actions: readonly ('create' | 'read' | 'update' | 'delete')[],
  devices: readonly string[] = ['*'],
): Grant => ({
  permissions: { updates: [...actions] },
  devices: [...devices],
  services: ['*'],
})

/** The offer that a device receives. */
export interface Offered {
  readonly id: string
  readonly firmware: string
  readonly url: string
  readonly sha256: string
  readonly size: number
}

/** The whole server in memory, with a connection for test callers: a header names the caller. */
export class FirmwareFixture {
  readonly assembly: Assembly
  readonly http: HttpFixture
  readonly #callers: Map<string, Caller>
  readonly #devices: WebSocket[] = []

  private constructor(assembly: Assembly, http: HttpFixture, callers: Map<string, Caller>) {
    this.assembly = assembly
    this.http = http
    this.#callers = callers
  }

  static async open(
    updates: Partial<UpdateSettings> = {},
    backend: StorageBackend = memoryStorage(),
  ): Promise<FirmwareFixture> {
    const callers = new Map<string, Caller>()
    const options = memoryServerOptions(world)
    const assembly = assemble({
      ...options,
      storage: { ...options.storage, backend },
      log: { error: console.error, warn: () => {}, info: () => {}, debug: () => {} },
      updates: { images: memoryBlobs({ bytesMax: imageBytesMax }), imageBytesMax, hookSecret, ...updates },
    })
    await assembly.open()
    const { context, eventSocketHandler } = assembly
    const http = await openHttp({
      world,
      bindings: bindingsOf(context, undefined, operationOf(assembly)),
      sockets: socketsOf(context, undefined, eventSocketHandler, 256 * 1024),
      authenticate: (request, access) =>
        access === 'hook' && request.headerCount('x-hook-signature') > 0
          ? unauthenticated
          : (callers.get(request.header('x-caller')) ?? anonymous),
    })
    return new FirmwareFixture(assembly, http, callers)
  }

  async close(): Promise<void> {
    for (const device of this.#devices) device.terminate()
    this.assembly.stop()
    await this.http.server.close()
    await this.assembly.close()
  }

  /** A caller with these grants; `change` replaces them, like an edit of a role. */
  caller(name: string, ...grants: Grant[]): { change(...after: Grant[]): void } {
    const made = (given: Grant[]): Caller => ({ ...anonymous, user: `crn#user:${name}`, scope: scopeOf(given) })
    let now = made(grants)
    const before: Caller = { ...now, isCurrent: () => now.scope === before.scope, now: () => now }
    this.#callers.set(name, before)
    now = before
    return {
      change(...after) {
        now = made(after)
      },
    }
  }

  async call(method: string, path: string, more: RequestInit & { by?: string } = {}) {
    const { by, ...init } = more
    const headers = { ...(by !== undefined && { 'x-caller': by }), ...(init.headers as Record<string, string>) }
    const response = await fetch(this.http.base + path, { ...init, method, headers })
    const bytes = Buffer.from(await response.arrayBuffer())
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return {
      status: response.status,
      headers: response.headers,
      bytes,
      json: isJson ? JSON.parse(`${bytes}`) : undefined,
    }
  }

  put(path: string, body: object, by?: string) {
    const headers = { 'content-type': 'application/json' }
    return this.call('PUT', path, { headers, body: JSON.stringify(body), ...(by !== undefined && { by }) })
  }

  upload(path: string, image: Uint8Array | string, headers: Record<string, string> = {}, by?: string) {
    return this.call('PUT', path, {
      body: image as NonNullable<RequestInit['body']>,
      headers,
      ...(by !== undefined && { by }),
    })
  }

  /** The rollout of the example, with changes. */
  rollout(change: object = {}): object {
    return { ...(putRollout.example.body as object), window: undefined, ...change }
  }

  /** A device without a link. */
  async known(device: string, project: string | undefined, firmwares: readonly object[] | undefined): Promise<void> {
    const hello = { type: 'hello', session: 'a', services: [], project, firmwares, isAutoUpdated: true }
    const { system } = this.assembly.context
    await system.ask({ kind: 'tenant', tenant: 'default', id: 'default' }, { type: 'admit_device', device, meta: {} })
    await system.ask(deviceAddress('default', device), { ...hello, isConnect: false } as unknown as Hello)
  }

  /** A device on its own link. `answer` answers its offers, with one or several messages. */
  async link(
    device: string,
    fields: object,
    answer: (offered: Offered) => readonly object[] = () => [],
  ): Promise<{ readonly offers: readonly Offered[] }> {
    const socket = new WebSocket(`${this.http.ws}/link`, ['link.v1.json'])
    this.#devices.push(socket)
    const offers: Offered[] = []
    await new Promise((welcomed, refused) => {
      socket.on('error', refused)
      socket.on('open', () => {
        socket.send(JSON.stringify({ type: 'HELLO', deviceIdentifier: device, services: [], ...fields }))
      })
      socket.on('message', (data) => {
        const message = JSON.parse(String(data))
        if (message.type === 'WELCOME') welcomed(undefined)
        if (message.type !== 'FIRMWARE') return
        offers.push(message)
        const { flakeAddress, id } = message
        for (const status of answer(message)) {
          socket.send(JSON.stringify({ type: 'FIRMWARE_STATUS', flakeAddress, id, ...status }))
        }
      })
    })
    return { offers }
  }
}

export function sha256Of(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
