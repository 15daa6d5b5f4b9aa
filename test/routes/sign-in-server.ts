import type { Identity } from '#access/identity'
import type { IdentitySettings } from '#access/options'
import { type Assembly, assemble } from '#app/assembly'
import type { Binding } from '#http/call'
import { bindingsOf, socketsOf } from '#routes/bindings'
import { IdempotentRequests } from '#routes/idempotency'
import { plainEngine } from '#test/access/plain-hashing'
import { root } from '#test/blackbox/signed-in-user'
import { type Answer, type Ask, askAt, type Environment, type Served } from '#test/blackbox/started-server'
import { type HttpFixture, type HttpFixtureOptions, openHttp, world } from '#test/http/http-fixture'
import { memoryHistory, memoryServerOptions } from '#test/memory-server'
import { operationOf } from '#test/routes/operation-of'

/** Settings that replace the defaults of the server. */
interface IamOptions {
  readonly bindings?: readonly Binding[]
  readonly settings?: Partial<IdentitySettings>
  readonly server?: HttpFixtureOptions
}

/** The whole server with sign-in enabled, in memory, over real sockets, with cheap passwords and a clock that tests move. */
export class SignInServer implements Served {
  readonly assembly: Assembly
  readonly identity: Identity
  readonly bindings: readonly Binding[]
  readonly #http: HttpFixture
  readonly #clock: { aheadMs: number }

  private constructor(
    assembly: Assembly,
    identity: Identity,
    { http, bindings, clock }: { http: HttpFixture; bindings: readonly Binding[]; clock: { aheadMs: number } },
  ) {
    this.assembly = assembly
    this.identity = identity
    this.bindings = bindings
    this.#http = http
    this.#clock = clock
  }

  static async open({ bindings: more = [], settings, server }: IamOptions = {}): Promise<SignInServer> {
    const clock = { aheadMs: 0 }
    const movable = { ...world, now: () => world.now() + clock.aheadMs }
    const opened: { http?: HttpFixture } = {}
    const assembly = assemble({
      ...memoryServerOptions(movable),
      history: memoryHistory(movable),
      publisher: { publish: (topic, message) => opened.http?.server.publisher.publish(topic, message) },
      identity: {
        fileKey: async () => new Uint8Array(32).fill(7),
        engine: plainEngine(),
        lifetimes: { tokenMs: 86_400_000, accessMs: 600_000, refreshMs: 86_400_000 },
        publicUrls: [],
        corsOrigins: [],
        areRateLimitsOn: false,
        firstAdministrator: { configured: root },
        port: () => opened.http?.port ?? 0,
        ...settings,
      },
    })
    await assembly.open()
    const { context, identity, eventSocketHandler } = assembly
    if (!identity) throw new Error('sign-in is off')
    const bindings = [...bindingsOf(context, identity, operationOf(assembly)), ...more]
    const http = await openHttp({
      world: movable,
      bindings,
      sockets: socketsOf(context, identity, eventSocketHandler, 256 * 1024),
      authenticate: identity.authenticate,
      failedSignIn: identity.failedSignIn,
      idempotency: new IdempotentRequests(context),
      audit: context.audit,
      ...server,
    })
    opened.http = http
    return new SignInServer(assembly, identity, { http, bindings, clock })
  }

  async close(): Promise<void> {
    await this.#http.server.close()
    await this.assembly.close()
  }

  get port(): number {
    return this.#http.port
  }

  get base(): string {
    return this.#http.base
  }

  get ws(): string {
    return this.#http.ws
  }

  /** The clock of the server, Unix ms. */
  now(): number {
    return world.now() + this.#clock.aheadMs
  }

  /** Advances the clock without running timers. */
  pass(ms: number): void {
    this.#clock.aheadMs += ms
  }

  get(path: string, headers: Environment = {}): Promise<Answer> {
    return this.ask(path, { headers })
  }

  ask(path: string, ask: Ask = {}): Promise<Answer> {
    return askAt(this.base, path, ask)
  }
}
