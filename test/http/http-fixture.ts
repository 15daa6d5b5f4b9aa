import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { z } from 'zod'
import { anonymous } from '#access/anonymous'
import { defineRoute, type Method, type RouteAccess, type RouteBody } from '#api/entry'
import { realWorld } from '#app/world'
import type { Answerer, Binding } from '#http/call'
import { openServer, type Server, type ServerLimits, type ServerOptions } from '#http/server'
import type { Caller } from '#model/caller'
import type { World } from '#runtime/world'

/** The real world, for tests over real sockets. */
export const world: World = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  soon: (task) => void setImmediate(task),
  asInput: realWorld.asInput,
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
  loopShare: () => 0,
  random: (byteCount) => randomBytes(byteCount),
}

/** May do everything. */
export const admin: Caller = anonymous

/** Log lines, kept. */
class RecordedLog {
  readonly lines: { readonly level: string; readonly fields: Record<string, unknown>; readonly message: string }[] = []

  isLevelEnabled(): boolean {
    return true
  }

  debug(fields: object, message: string): void {
    this.lines.push({ level: 'debug', fields: { ...fields }, message })
  }

  warn(fields: object, message: string): void {
    this.lines.push({ level: 'warn', fields: { ...fields }, message })
  }

  error(fields: object, message: string): void {
    this.lines.push({ level: 'error', fields: { ...fields }, message })
  }
}

export interface HttpFixture {
  readonly server: Server
  readonly log: RecordedLog
  readonly port: number
  /** `http://127.0.0.1:port/api/v1`. */
  readonly base: string
  readonly ws: string
}

/** Options of the server without their groups. */
export type HttpFixtureOptions = Partial<
  ServerOptions['address'] &
    ServerOptions['routes'] &
    ServerOptions['authentication'] &
    ServerOptions['origins'] &
    ServerLimits &
    Pick<ServerOptions, 'world' | 'idempotency' | 'redactPath' | 'figures'>
>

export async function openHttp(options: HttpFixtureOptions = {}): Promise<HttpFixture> {
  const log = new RecordedLog()
  const { cors = { corsOrigins: [], publicUrls: [], iamOff: false }, authenticate = () => admin } = options
  const server = await openServer({
    world,
    log,
    address: { host: '127.0.0.1', port: 0, ...options },
    routes: { bindings: [], ...options },
    authentication: { ...options, authenticate },
    origins: { ...options, cors },
    limits: { closeGraceMs: 100, ...options },
    ...options,
  })
  const base = `127.0.0.1:${server.port}/api/v1`
  return { server, log, port: server.port, base: `http://${base}`, ws: `ws://${base}` }
}

export interface Bound {
  readonly access?: RouteAccess
  readonly parameters?: z.ZodType
  readonly query?: z.ZodType
  readonly body?: RouteBody
}

/** A route in one line. */
export function route(method: Method, path: string, answer: Answerer, bound: Bound = {}): Binding {
  const entry = defineRoute({
    name: 'x',
    method,
    path,
    source: '§0',
    summary: '',
    access: 'none',
    answers: {},
    example: { status: 200 },
    ...bound,
  })
  return { entry, answer }
}

/** Waits until something holds, however long that takes here; the test's own limit ends it. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}
