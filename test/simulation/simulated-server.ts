import '#test/simulation/immediate-signatures'
import { anonymous } from '#access/built-in-callers'
import type { Identity } from '#access/identity'
import { idempotencyKeyHeader } from '#api/route-entry'
import { type Assembly, assemble } from '#app/assembly'
import type { AssemblyOptions } from '#app/assembly-options'
import type { UpdateSettings } from '#firmware/options'
import { permit } from '#http/authentication'
import type { BegunRequest, Binding, Call, IdempotencyGuard, Reply } from '#http/call'
import { type Caller, unauthenticated } from '#model/caller'
import type { Entry } from '#model/entry'
import { seedBytes } from '#model/identifier'
import { Problem } from '#model/problem'
import { everything } from '#model/scope'
import { bindingsOf } from '#routes/bindings'
import { IdempotentRequests } from '#routes/idempotency'
import type { StorageBackend } from '#runtime/storage'
import type { World } from '#runtime/world'
import { plainEngine } from '#test/access/plain-hashing'
import { operationOf } from '#test/routes/operation-of'
import type { SimulatedMailServer } from '#test/simulation/simulated-mail'
import type { SimulatedReceivers } from '#test/simulation/simulated-receivers'
import { PublishFault, SimulatedSockets } from '#test/simulation/simulated-sockets'
import { type SimulatedWorld, settle } from '#test/simulation/simulated-world'
import { watchTurns } from '#test/simulation/watched-turns'

export const tenant = 'default'
export const ticketLifetimeMs = 30_000
/** How long a device has to answer a write. */
const writeTimeoutMs = 600
/** How long a device has to answer an offer. */
const offerTimeoutMs = 900
const forwarded = { origins: ['http://127.0.0.1'], host: '127.0.0.1', address: '127.0.0.1' }

export interface SimulatedLimits {
  readonly retainedBytesMax: number
  readonly uncommittedBytesMax: number
  readonly tokenMs: number
  readonly mails: {
    readonly server: SimulatedMailServer
    readonly receivers: SimulatedReceivers
    readonly perHourMax: number
    readonly storedRequestsMax: number
  }
  readonly updates: Required<Pick<UpdateSettings, 'images' | 'options'>>
  /** Absent: history is off. */
  readonly history?: (world: World) => NonNullable<AssemblyOptions['history']>
}

/** An administrator with permanent permissions: its answers are the reference for those of others. */
const administrator: Caller = { ...anonymous, tenant, scope: everything }

/**
 * A parsed call. `authorization`: the header to use; by default the administrator's, or, with the administrator's
 * permissions, that of the user in `as`. `key`: its `Idempotency-Key`.
 */
export type SimulatedRequest = Partial<Call> & {
  readonly authorization?: string
  readonly as?: string
  readonly key?: string
  /** Further headers, by their lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
  /** A body in chunks. */
  readonly pieces?: AsyncIterable<Uint8Array> & { readonly lengthBytes: number }
}

/** One process of the server: everything except uWebSockets.js and LevelDB. */
export class SimulatedServer {
  readonly assembly: Assembly
  readonly sockets: SimulatedSockets
  readonly errors: Error[] = []
  readonly identity: Identity
  readonly now: () => number
  /** A FIRMWARE with this id is sent. */
  firmwareSent: (id: string) => void = () => {}
  readonly #kill: () => void
  #isDead = false
  readonly #outside: SimulatedLimits['mails']
  readonly #bindings: ReadonlyMap<string, Binding>
  readonly #guard: IdempotencyGuard

  constructor(world: SimulatedWorld, backend: StorageBackend, limits: SimulatedLimits) {
    const process = world.process()
    this.#kill = process.kill
    this.now = () => process.world.now()
    this.sockets = new SimulatedSockets(process.world)
    const { server: mailServer, receivers, perHourMax: mailsPerHourMax, storedRequestsMax } = limits.mails
    this.#outside = limits.mails
    const note = (fields: object, message: string) => {
      const { err } = fields as { err?: unknown }
      if (err instanceof PublishFault) return
      if (message.startsWith('a bug') || message.endsWith(' failed'))
        this.errors.push(new Error(message, { cause: err }))
    }
    this.assembly = assemble({
      world: process.world,
      storage: {
        backend,
        isSynced: false,
        retention: { bytesMax: limits.retainedBytesMax, ageMsMax: 24 * 3_600_000 },
        redo: { eventsMax: 60, bytesMax: 1024 * 1024, growth: { eventsPerActor: 8, timesMax: 2 } },
        // Some actors are activated in bulk, others one by one.
        bulkActivation: { entriesMin: 1, actorsMin: 1, rowsAhead: 3, rowsPerActor: 2 },
      },
      publisher: this.sockets,
      limits: {
        uncommittedBytesMax: limits.uncommittedBytesMax,
        highWaterBytes: 100,
        ticketLifetimeMs,
        writeTimeoutMs,
      },
      notifications: {
        mail: mailServer.seenBy(process.world),
        webhookSender: receivers.seenBy(process.world),
        mailsPerHourMax,
        storedRequestsMax,
      },
      ...(limits.history && { history: limits.history(process.world) }),
      updates: { ...limits.updates, offerTimeoutMs, publicUrls: ['https://simulated'] },
      identity: {
        fileKey: async () => new Uint8Array(32).fill(7),
        engine: plainEngine(),
        lifetimes: { tokenMs: limits.tokenMs, accessMs: limits.tokenMs, refreshMs: limits.tokenMs },
        publicUrls: ['https://simulated'],
        corsOrigins: [],
        areRateLimitsOn: false,
        firstAdministrator: { configured: { name: 'root', password: 'the password of root' } },
        port: () => 8080,
      },
      log: { error: note, warn: () => {}, info: () => {}, debug: () => {} },
    })
    const { context, identity } = this.assembly
    watchTurns(context.system.registry, (what) => this.errors.push(new Error(what)))
    if (!identity) throw new Error('IAM is off')
    this.identity = identity
    const bindings = bindingsOf(context, identity, operationOf(this.assembly))
    this.#bindings = new Map(bindings.map((binding) => [binding.entry.name, binding]))
    this.#guard = new IdempotentRequests(context)
  }

  async open(): Promise<void> {
    await this.assembly.open()
  }

  /** The process dies; its sockets break. */
  die(): void {
    this.#kill()
    this.#isDead = true
    this.#outside.server.senderDied()
    this.#outside.receivers.senderDied()
    for (const socket of [...this.sockets.sockets]) socket.vanish()
  }

  /** Calls a route. Rejects with a Problem. A process that died meanwhile, also during a signature, never answers. */
  async call(name: string, request: SimulatedRequest = {}): Promise<Reply & { body: string }> {
    try {
      return await this.#answered(name, request)
    } finally {
      if (this.#isDead) await new Promise(() => {})
    }
  }

  async #answered(name: string, request: SimulatedRequest): Promise<Reply & { body: string }> {
    const binding = this.#bindings.get(name)
    if (!binding) throw new Error(`no route ${name}`)
    const { world } = this.assembly.context
    const { authorization = '', as, key = '', headers: more = {}, pieces, ...given } = request
    const actingAs = { ...administrator, user: as ?? administrator.user }
    const caller = authorization === '' ? actingAs : await this.#callerBy(authorization, binding)
    const { parameters = {}, query = {}, body } = given
    const headers: Readonly<Record<string, string>> = { ...more, authorization, [idempotencyKeyHeader]: key }
    const callOf = (begun?: BegunRequest): Call => ({
      caller,
      parameters,
      query,
      body,
      get bodyBytes() {
        return Buffer.from(JSON.stringify(body ?? null))
      },
      upload: pieces && {
        lengthBytes: pieces.lengthBytes,
        [Symbol.asyncIterator]: () => pieces[Symbol.asyncIterator](),
        stillPermitted: () => caller,
      },
      header: (header) => headers[header] ?? '',
      target: { method: binding.entry.method, path: pathOf(binding, parameters), query: JSON.stringify(query) },
      identified: () => {},
      requestId: 'test',
      remoteAddress: forwarded.address,
      forwarded,
      // The simulated client never closes before the answer.
      get signal() {
        return new AbortController().signal
      },
      get seed() {
        return world.random(seedBytes)
      },
      isRepeated: false,
      ...given,
      ...begun,
    })
    const call = callOf()
    permit(binding.entry.access, call.caller, call.parameters)
    const proceed = (begun?: BegunRequest) => binding.answer(callOf(begun))
    const reply = await (key === '' ? binding.answer(call) : this.#guard.run(call, binding.entry, proceed))
    let text = reply.json === undefined ? (reply.text ?? '') : JSON.stringify(reply.json)
    for await (const chunk of reply.chunks ?? []) text += typeof chunk === 'string' ? chunk : Buffer.from(chunk)
    return { ...reply, body: text }
  }

  #callerBy(authorization: string, { entry: { access, method, path } }: Binding): Caller | Promise<Caller> {
    if (access === 'none') return unauthenticated
    const given = (header: string) => (header === 'authorization' ? authorization : '')
    const target = { method, path, query: '', forwarded, requestId: 'test' }
    const headerCount = (header: string) => (given(header) === '' ? 0 : 1)
    return this.identity.authenticate({ ...target, header: given, headerCount, addReplyHeader: () => {} }, access)
  }

  /** Every retained entry, in order. */
  async stream(): Promise<{ offset: number; entry: Entry }[]> {
    const {
      events: { reader },
      system,
    } = this.assembly.context
    const found: { offset: number; entry: Entry }[] = []
    let tries = 0
    const last = system.registry.head(tenant).committed
    for (let offset = reader.retainedFrom(tenant); offset <= last; ) {
      const chunk = await reader.load(tenant, offset)
      if (!chunk && tries++ < 100) {
        // Retention is in progress: its entries may be deleted before it reports so.
        await settle()
        offset = Math.max(offset, reader.retainedFrom(tenant))
        continue
      }
      if (!chunk) throw new Error(`entry ${offset} of ${last} cannot be read`)
      chunk.events.forEach((entry, index) => {
        if (chunk.firstOffset + index >= offset) found.push({ offset: chunk.firstOffset + index, entry })
      })
      offset = chunk.firstOffset + chunk.events.length
    }
    return found
  }
}

function pathOf({ entry }: Binding, parameters: unknown): string {
  const given = parameters as Readonly<Record<string, string>>
  return entry.path.replace(/:(\w+)/g, (_, name: string) => given[name] ?? '')
}

/** An answer, or the code of a refusal. */
export interface Outcome {
  readonly status: number
  readonly body: string
  readonly headers?: Reply['headers']
  readonly refused?: Problem['code']
}

export async function answerOf(call: ReturnType<SimulatedServer['call']>): Promise<Outcome> {
  try {
    return await call
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { status: error.kind.status, body: '', refused: error.code }
  }
}
