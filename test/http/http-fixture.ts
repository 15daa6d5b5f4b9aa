import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { z } from 'zod'
import { anonymous } from '#access/built-in-callers'
import { defineRoute, type Method, type RouteAccess, type RouteBody } from '#api/route-entry'
import { realWorld } from '#app/world'
import type { Answerer, Binding } from '#http/call'
import { openServer, type Server, type ServerLimits, type ServerOptions } from '#http/server'
import type { Caller } from '#model/caller'
import type { World } from '#runtime/world'

/** The real clock, timers and random bytes, for tests over real sockets. */
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

/** A caller with all permissions. */
export const admin: Caller = anonymous

interface LogLine {
  readonly level: 'debug' | 'warn' | 'error'
  readonly fields: Record<string, unknown>
  readonly message: string
}

/** A log that records its lines. */
function recordedLog() {
  const lines: LogLine[] = []
  const at = (level: LogLine['level']) => (fields: object, message: string) =>
    void lines.push({ level, fields: { ...fields }, message })
  return { lines, isLevelEnabled: () => true, debug: at('debug'), warn: at('warn'), error: at('error') }
}

export interface HttpFixture {
  readonly server: Server
  readonly log: { readonly lines: readonly LogLine[] }
  readonly port: number
  /** `http://127.0.0.1:port/api/v1`. */
  readonly base: string
  readonly ws: string
}

/** The options of the server in one object, without groups. */
export type HttpFixtureOptions = Partial<
  ServerOptions['address'] &
    ServerOptions['routes'] &
    ServerOptions['authentication'] &
    ServerOptions['origins'] &
    ServerLimits &
    Omit<ServerOptions['logging'], 'log'> &
    NonNullable<ServerOptions['changes']> &
    Pick<ServerOptions, 'world' | 'metrics' | 'otherNodes'>
>

export async function openHttp(options: HttpFixtureOptions = {}): Promise<HttpFixture> {
  const log = recordedLog()
  const { cors = { corsOrigins: [], publicUrls: [], iamOff: false }, authenticate = () => admin } = options
  const server = await openServer({
    world,
    logging: { ...options, log },
    address: { host: '127.0.0.1', port: 0, ...options },
    routes: { bindings: [], ...options },
    authentication: { ...options, authenticate },
    origins: { ...options, cors },
    limits: { closeGraceMs: 100, ...options },
    changes: options,
    ...options,
  })
  const base = `127.0.0.1:${server.port}/api/v1`
  return { server, log, port: server.port, base: `http://${base}`, ws: `ws://${base}` }
}

export interface RouteOptions {
  readonly access?: RouteAccess
  readonly parameters?: z.ZodType
  readonly query?: z.ZodType
  readonly body?: RouteBody
}

/** Declares a route in one line. */
export function route(method: Method, path: string, answer: Answerer, options: RouteOptions = {}): Binding {
  const entry = defineRoute('x', {
    route: `${method} ${path}`,
    summary: '',
    access: 'none',
    answers: {},
    ...options,
  })
  return { entry, answer }
}

/** Waits without a limit of its own, so that a slow machine fails no test; the test's timeout ends it. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}
