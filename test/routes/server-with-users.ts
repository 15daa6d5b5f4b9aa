import { anonymous } from '#access/built-in-callers'
import { tenantAddress } from '#actors/tenant/commands'
import { type Assembly, assemble } from '#app/assembly'
import { Problem } from '#model/problem'
import { type Grant, scopeOf } from '#model/scope'
import { bindingsOf } from '#routes/bindings'
import type { RouteContext } from '#routes/context'
import type { ActorAddress } from '#runtime/actor'
import { type HttpFixture, openHttp, world } from '#test/http/http-fixture'
import { memoryServerOptions } from '#test/memory-server'
import { operationOf } from '#test/routes/operation-of'

interface Person {
  readonly grants: readonly Grant[]
  readonly roles: readonly string[]
  readonly isGone?: boolean
}

/** The answer; `json` is undefined if the body is not JSON. */
export interface Answer {
  readonly status: number
  readonly text: string
  readonly json: unknown
  readonly headers: Headers
}

/**
 * The whole server in memory, behind a real socket. A test sets the grants of each user. The header `X-User` names the
 * caller: a user, or `anonymous` for the caller of a server without authentication.
 */
export class ServerWithUsers {
  readonly #assembly: Assembly
  readonly #http: HttpFixture
  readonly #people: Map<string, Person>

  private constructor(assembly: Assembly, http: HttpFixture, people: Map<string, Person>) {
    this.#assembly = assembly
    this.#http = http
    this.#people = people
  }

  /** `notifications` replaces parts of the notification services in the context of the routes. */
  static async open(notifications: Partial<RouteContext['notifications']> = {}): Promise<ServerWithUsers> {
    const people = new Map<string, Person>([['root', { grants: [everywhere({ '*': ['*'] })], roles: [] }]])
    const assembly = assemble(memoryServerOptions(world))
    await assembly.open()
    const context: RouteContext = {
      ...assembly.context,
      notifications: { ...assembly.context.notifications, ...notifications },
    }
    const http = await openHttp({
      bindings: bindingsOf(context, undefined, operationOf(assembly)),
      authenticate(request) {
        const name = request.header('x-user')
        if (name === anonymous.name) return anonymous
        const person = people.get(name)
        if (!person) throw new Problem('unauthorized')
        const { grants, roles, isGone = false } = person
        const caller = { ...anonymous, user: userOf(name), name, roles, access: name, scope: scopeOf(grants) }
        return isGone ? { ...caller, isCurrent: () => false } : caller
      },
    })
    return new ServerWithUsers(assembly, http, people)
  }

  async close(): Promise<void> {
    await this.#http.server.close()
    await this.#assembly.close()
  }

  /** Sets the grants of a user. */
  give(name: string, grants: readonly Grant[], roles: readonly string[] = []): void {
    this.#people.set(name, { grants, roles })
  }

  /** From now on, the access of this user ends while their requests run. */
  endAccess(name: string): void {
    this.#people.set(name, { grants: [everywhere({ '*': ['*'] })], roles: [], isGone: true })
  }

  /** `body`: text as it is, other values as JSON. */
  async call(
    name: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(this.#http.base + path, {
      method,
      headers: { 'X-User': name, ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = text !== '' && response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, text, json: isJson ? JSON.parse(text) : undefined, headers: response.headers }
  }

  get base(): string {
    return this.#http.base
  }

  get system() {
    return this.#assembly.context.system
  }

  ask(address: ActorAddress, command: unknown): Promise<unknown> {
    return this.system.ask(address, command)
  }

  /** The number of entries in the stream of tenant `default`. */
  get entryCount(): number {
    return this.system.registry.head('default').taken
  }

  /** Acts without the checks of the API. */
  askTenant(command: unknown): Promise<unknown> {
    return this.ask(tenantAddress('default'), command)
  }
}

/** The resource name of a user. */
export function userOf(name: string): string {
  return `crn#user:${name}`
}

export function grantOn(devices: string[], services: string[], permissions: Grant['permissions']): Grant {
  return { permissions, devices, services }
}

export function everywhere(permissions: Grant['permissions']): Grant {
  return grantOn(['*'], ['*'], permissions)
}
