import { anonymous } from '#iam/anonymous'
import type { Caller } from '#iam/caller'
import type { Entry } from '#model/entry'
import { everything, type Scope } from '#model/scope'
import { deviceRoutes } from '#routes/devices'
import { metaRoutes } from '#routes/meta'
import { schemaRoutes } from '#routes/schemas'
import { serviceRoutes } from '#routes/services'
import type { Binding, Call, Reply } from '#server/call'
import { permit } from '#server/permit'
import { type Assembly, assemble } from '#src/assembly'
import type { MemoryPlace } from '#store/memory'
import { SimulatedSockets } from '#test/simulation/simulated-sockets'
import { type SimulatedWorld, settle } from '#test/simulation/simulated-world'

export const tenant = 'default'

/** Limits that differ from run to run. */
export interface SimulatedLimits {
  readonly retainedBytesMax: number
  readonly uncommittedBytesMax: number
}

/** One process of the server: everything but uWebSockets.js and LevelDB. */
export class SimulatedServer {
  readonly assembly: Assembly
  readonly sockets: SimulatedSockets
  readonly errors: unknown[] = []
  readonly #kill: () => void
  readonly #bindings: readonly Binding[]

  constructor(world: SimulatedWorld, place: MemoryPlace, limits: SimulatedLimits) {
    const process = world.process()
    this.#kill = process.kill
    this.sockets = new SimulatedSockets(process.world)
    const note = (fields: object, message: string) => {
      if (message.startsWith('a bug')) this.errors.push(fields)
    }
    this.assembly = assemble({
      world: process.world,
      place,
      publisher: this.sockets,
      isSynced: false,
      retention: { bytesMax: limits.retainedBytesMax, ageMsMax: 3_600_000 },
      redo: { eventsMax: 60, bytesMax: 1024 * 1024, growth: { eventsPerActor: 8, timesMax: 2 } },
      // Some are woken in bulk, and others one by one.
      bulkWake: { entriesMin: 1, actorsMin: 1, rowsAhead: 3, rowsPerActor: 2 },
      uncommittedBytesMax: limits.uncommittedBytesMax,
      highWaterBytes: 100,
      ticketLifetimeMs: 30_000,
      log: { error: note, warn: () => {}, info: () => {}, debug: () => {} },
    })
    const { context } = this.assembly
    this.#bindings = [
      ...deviceRoutes(context),
      ...serviceRoutes(context),
      ...schemaRoutes(context),
      ...metaRoutes(context),
    ]
  }

  async open(): Promise<void> {
    await this.assembly.open()
  }

  /** The process dies; its sockets break. */
  die(): void {
    this.#kill()
    for (const socket of [...this.sockets.sockets]) socket.vanish()
  }

  /** Calls a route as a caller of this scope. Rejects with a Problem. */
  async call(
    name: string,
    request: Partial<Call> & { readonly scope?: Scope } = {},
  ): Promise<Reply & { body: string }> {
    const binding = this.#bindings.find(({ entry }) => entry.name === name)
    if (!binding) throw new Error(`no route ${name}`)
    const caller: Caller = { ...anonymous, tenant, scope: request.scope ?? everything }
    const call: Call = {
      caller,
      parameters: {},
      query: {},
      body: undefined,
      bodyBytes: new Uint8Array(0),
      seed: this.assembly.context.world.random(16),
      isRepeated: false,
      header: () => '',
      target: { path: '/', query: '' },
      requestId: 'test',
      remoteAddress: '127.0.0.1',
      seen: { origins: ['http://127.0.0.1'], host: '127.0.0.1', address: '127.0.0.1' },
      signal: new AbortController().signal,
      ...request,
    }
    permit(binding.entry.access, caller, call.parameters)
    const reply = await binding.answer(call)
    let body = reply.text ?? ''
    for await (const chunk of reply.chunks ?? []) body += chunk
    return { ...reply, body }
  }

  /** Every stored entry that is retained, in order. */
  async stream(): Promise<{ offset: number; entry: Entry }[]> {
    const { reader, system } = this.assembly.context
    const found: { offset: number; entry: Entry }[] = []
    let tries = 0
    const last = system.registry.head(tenant).committed
    for (let offset = reader.retainedFrom(tenant); offset <= last; ) {
      const chunk = await reader.load(tenant, offset)
      if (!chunk && tries++ < 100) {
        // Retention is at work: what it deletes may be gone before it says so.
        await settle()
        offset = Math.max(offset, reader.retainedFrom(tenant))
        continue
      }
      if (!chunk) throw new Error(`entry ${offset} of ${last} can't be read`)
      chunk.events.forEach((entry, index) => {
        if (chunk.firstOffset + index >= offset) found.push({ offset: chunk.firstOffset + index, entry })
      })
      offset = chunk.firstOffset + chunk.events.length
    }
    return found
  }
}
