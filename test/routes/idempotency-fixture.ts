import { anonymous } from '#access/built-in-callers'
import {
  answerRecord,
  idempotencyActor,
  idempotencyAddress,
  type StoredIdempotencyKey,
} from '#actors/idempotency/idempotency'
import { noticeBus } from '#actors/notice-bus'
import { tenantAddress } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import { tenantActor } from '#actors/tenant/tenant'
import type { Method, RouteEntry } from '#api/route-entry'
import type { Answerer, Call, IdempotencyGuard, Reply } from '#http/call'
import { randomId, seededRandom } from '#model/identifier'
import { Problem } from '#model/problem'
import { IdempotentRequests } from '#routes/idempotency'
import type { AnyDefinition } from '#runtime/activation'
import { ManualWorld } from '#test/runtime/manual-world'
import { during, RuntimeFixture } from '#test/runtime/runtime-fixture'
import { type MemoryBackend, memoryStorage, type WriteFault } from '#test/store/memory'

/** The parts of a request that its key covers. */
export interface Asked {
  readonly key?: string
  readonly tenant?: string
  readonly user?: string
  /** The id of the session that the caller signed in with, if any. Stored answers are limited only then. */
  readonly session?: string
  readonly method?: Method
  readonly path?: string
  readonly query?: string
  readonly body?: string
  readonly isSecret?: boolean
  readonly isCurrent?: () => boolean
}

/** The number of requests that may run at the same time. */
export const runningMax = 100
/** Bytes of stored answers of one user in a day: three of 1 000 bytes. */
export const userBytesMax = 4_000

type Definitions = AnyDefinition<never>[]

/** The idempotency layer with its actor and a store in memory, without timers. */
export class IdempotencyFixture {
  readonly world: ManualWorld
  readonly backend: MemoryBackend
  /** Called for each write with its number; returns the failure. */
  onWrite: (count: number) => WriteFault | undefined = () => undefined
  writes = 0
  /** The calls that reached an answerer. */
  readonly calls: Call[] = []
  #fixture: RuntimeFixture
  #guard: IdempotencyGuard

  private constructor(world: ManualWorld) {
    this.world = world
    this.backend = memoryStorage({ world, faults: { beforeWrite: () => this.onWrite(++this.writes) } })
    this.#fixture = this.#made()
    this.#guard = new IdempotentRequests(this.#fixture, { runningMax, userBytesMax })
  }

  static async open(): Promise<IdempotencyFixture> {
    const fixture = new IdempotencyFixture(new ManualWorld())
    await fixture.#fixture.open()
    fixture.writes = 0
    return fixture
  }

  get system(): RuntimeFixture['system'] {
    return this.#fixture.system
  }

  get events(): number {
    return this.#fixture.events.length
  }

  get bugs(): readonly string[] {
    return this.#fixture.bugs
  }

  /** Kills the process after `kept` writes of the batch reached the disk. No pending request gets an answer. */
  die(kept: number): void {
    this.#fixture.crash(kept)
  }

  /** Starts another process with the stored state. */
  async restart(): Promise<void> {
    this.onWrite = () => undefined
    this.#fixture = this.#made()
    await this.#fixture.open()
    this.#guard = new IdempotentRequests(this.#fixture, { runningMax, userBytesMax })
  }

  run(asked: Asked, answer: Answerer): Promise<Reply> {
    const { key = 'k', tenant = 'default', user = 'crn#user:U1', method = 'POST', path = '/p', query = '' } = asked
    const call: Call = {
      caller: {
        ...anonymous,
        tenant,
        user,
        isCurrent: asked.isCurrent ?? (() => true),
        ...(asked.session && { session: { kind: 'session', tenant, id: asked.session } }),
      },
      parameters: {},
      query: {},
      body: undefined,
      bodyBytes: Buffer.from(asked.body ?? '{}'),
      upload: undefined,
      header: (name) => (name === 'idempotency-key' ? key : ''),
      target: { method: 'POST', path, query },
      identified: () => {},
      requestId: 'test',
      remoteAddress: '192.0.2.1',
      forwarded: { origins: [], host: 'h', address: '192.0.2.1' },
      signal: new AbortController().signal,
      seed: new Uint8Array(16),
      isRepeated: false,
    }
    const rest = { summary: '', access: 'session', answers: {}, example: { status: 200 } } as const
    const entry: RouteEntry = { name: 'x', method, path: '/p', ...rest, ...(asked.isSecret && { isSecret: true }) }
    return this.#guard.run(call, entry, (begun) => {
      const keyed = { ...call, ...begun }
      this.calls.push(keyed)
      return answer(keyed)
    })
  }

  reply(asked: Asked, answer: Answerer): Promise<Reply> {
    return during(this.world, this.run(asked, answer))
  }

  /** The answer as a client sees it: `201 /location {"a":1}`, or `409 conflict` for an error. */
  async send(asked: Asked, answer: Answerer): Promise<string> {
    return this.replyText(this.run(asked, answer))
  }

  async replyText(reply: Promise<Reply>): Promise<string> {
    try {
      const { status, headers, text, json } = await during(this.world, reply)
      return [status, headers?.Location, text ?? JSON.stringify(json)].filter((part) => part !== undefined).join(' ')
    } catch (error) {
      if (error instanceof Problem) return `${error.kind.status} ${error.code}`
      throw error
    }
  }

  /** Creates a resource whose id follows from the seed, like the routes. */
  async make(call: Call): Promise<Reply> {
    const id = randomId(seededRandom(call.seed))
    const schema = { name: 'made', properties: {} }
    await this.system.ask(tenantAddress(call.caller.tenant), { type: 'put_schema', service: id, schema })
    return { status: 201, headers: { Location: `/things/${id}` }, json: { id } }
  }

  get made(): readonly string[] {
    return [...(this.system.peek(tenantAddress('default')) as TenantState).schemas.keys()]
  }

  stored({ key = 'k', tenant = 'default', user = 'crn#user:U1' }: Asked = {}): StoredIdempotencyKey | undefined {
    return this.system.recordOf(idempotencyAddress(tenant, user, key), answerRecord) as StoredIdempotencyKey | undefined
  }

  #made(): RuntimeFixture {
    const { world, backend } = this
    const definitions = () => [idempotencyActor, tenantActor(noticeBus())] as unknown as Definitions
    return new RuntimeFixture({ world, backend, definitions })
  }
}
