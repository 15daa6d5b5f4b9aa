import * as uws from 'uWebSockets.js'
import type { Authenticate } from '#http/authentication'
import { bodyPaceMs } from '#http/body-pace'
import type { Binding } from '#http/call'
import { type CorsOptions, corsOf } from '#http/cors'
import { DropReport } from '#http/drop-report'
import { forwardingOf } from '#http/forwarded'
import { type Destination, httpHandler } from '#http/http'
import { HttpMetrics } from '#http/http-metrics'
import type { IdempotencyGuard } from '#http/idempotency'
import { OpenSockets } from '#http/open-sockets'
import { OverloadLog } from '#http/overload-log'
import { type PathRow, pathTable } from '#http/paths'
import { PendingRequests } from '#http/pending-requests'
import { requestIds } from '#http/request-id'
import type { ServerContext } from '#http/server-context'
import type { ServerLog } from '#http/server-log'
import { serveSockets } from '#http/websocket'
import type { AnyWebsocketRoute } from '#http/websocket-route'
import { Problem } from '#model/problem'
import { ConcurrencyLimit } from '#runtime/concurrency-limit'
import type { SocketPublisher } from '#runtime/socket'
import type { World } from '#runtime/world'

export interface ServerOptions {
  readonly world: World
  readonly log: ServerLog
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** The prefix of `bindings` and `sockets`. Default `/api/v1`. */
  readonly basePath?: string
  readonly bindings: readonly Binding[]
  /** Routes whose paths begin at the root. */
  readonly rootBindings?: readonly Binding[]
  readonly sockets?: readonly AnyWebsocketRoute[]
  readonly authenticate: Authenticate
  readonly cors: CorsOptions
  /** Counts malformed requests to sign-in routes; default: not. @throws Problem `too_many_requests` */
  readonly failedSignIn?: (address: string) => void
  /** Whether `X-Forwarded-…` is trusted: then only trusted proxies may be able to connect. Default: no. */
  readonly isProxyTrusted?: boolean
  /** For entries without a limit of their own. Default 1 MiB. */
  readonly bodyBytesMax?: number
  /** The same for streamed bodies. Default 256 MiB. */
  readonly streamedBytesMax?: number
  /** Default: `Idempotency-Key` is ignored. */
  readonly idempotency?: IdempotencyGuard
  /** Unanswered requests of one user. Default 1 000. */
  readonly requestsPerUserMax?: number
  /** The time until an answer begins; then 503. Default 60 s. */
  readonly requestDeadlineMs?: number
  /** The time for each 16 KiB of a body; then 408. Default 7 s. */
  readonly bodyPaceMs?: number
  /** How long `close` waits for running requests. Default 10 s. */
  readonly closeGraceMs?: number
  /** The logged form of a path without a known route, which may contain tickets or tokens. Default: the path. */
  readonly redactPath?: (path: string) => string
  /** Metrics of requests and websockets. */
  readonly figures?: HttpMetrics
  /** The error for an unknown path, if there is more to say than 404. */
  readonly notFound?: (path: string) => Problem | undefined
}

/** To stop, call `stopListening`, `closeSockets`, `close`. */
export interface Server {
  readonly port: number
  readonly publisher: SocketPublisher
  /** The number of requests whose answer is not complete. */
  inFlight(): number
  /** The number of open websockets. */
  openSockets(): number
  /** Accepts no new connections; existing ones continue, and each closes after its next answer. */
  stopListening(): void
  /** Closes every websocket, in batches. */
  closeSockets(code: number, reason: string): Promise<void>
  /** Waits for requests during the grace period, then closes the rest. */
  close(): Promise<void>
}

/** The address is not available; the message names it. */
export class CannotListen extends Error {}

/**
 * Unanswered requests of one user. A browser has six, a program that waits for devices some dozens; each may hold an
 * answer of a megabyte while the client reads it slowly.
 */
const requestsPerUserMax = 1_000
const requestsPerTenantMax = 4_000

/** Opens the server. Rejects if the address is not available, and names it. */
export async function openServer(options: ServerOptions): Promise<Server> {
  const { world, host } = options
  const basePath = options.basePath ?? '/api/v1'
  const limits = {
    perUserMax: options.requestsPerUserMax ?? requestsPerUserMax,
    perTenantMax: requestsPerTenantMax,
  }
  const requests = new ConcurrencyLimit({ ...limits, things: 'requests' })
  const context: ServerContext = {
    world,
    log: options.log,
    cors: corsOf(options.cors),
    forwarding: forwardingOf({ isProxyTrusted: options.isProxyTrusted ?? false, publicUrls: options.cors.publicUrls }),
    pending: new PendingRequests(world, options.requestDeadlineMs ?? 60_000, requests),
    requests,
    work: new ConcurrencyLimit({ ...limits, things: 'requests in progress, also of closed connections,' }),
    allUnread: { bytes: 0 },
    receiving: new PendingRequests(world, options.bodyPaceMs ?? bodyPaceMs),
    overloadLog: new OverloadLog(world, options.log, 'more requests were turned away'),
    brokenOff: new OverloadLog(world, options.log, 'more answers were broken off'),
    figures: options.figures ?? new HttpMetrics(),
    bodyBytesMax: options.bodyBytesMax ?? 1024 * 1024,
    streamedBytesMax: options.streamedBytesMax ?? 256 * 1024 * 1024,
    idempotency: options.idempotency,
    failedSignIn: options.failedSignIn ?? (() => {}),
    requestId: requestIds(world),
    redactPath: options.redactPath ?? ((path) => path),
    notFound: (path) => options.notFound?.(path) ?? new Problem('not_found'),
    isStopping: false,
  }
  const sockets = new OpenSockets(world)
  const dropping = new DropReport()

  const app = uws.App()
  for (const route of options.sockets ?? []) serveSockets(app, context, sockets, dropping, basePath + route.path, route)
  app.any('/*', httpHandler(context, pathTable(rowsOf(options, basePath, context.figures)), options.authenticate))

  let isClosed = false
  let listening: uws.us_listen_socket | undefined = await listen(app, host, options.port)
  const port = uws.us_socket_local_port(listening as uws.us_socket)

  return {
    port,
    publisher: {
      publish(topic, message) {
        dropping.refuse('publish')
        if (!isClosed) app.publish(topic, message, false)
      },
    },
    inFlight: () => context.pending.size,
    openSockets: () => sockets.size,
    stopListening,
    closeSockets: (code, reason) => sockets.closeAll(code, reason),
    async close() {
      stopListening()
      await idle(context, options.closeGraceMs ?? 10_000)
      if (!isClosed) app.close()
      isClosed = true
    },
  }

  function stopListening(): void {
    context.isStopping = true
    if (!listening) return
    // Not app.close(), which closes every connection at once.
    uws.us_listen_socket_close(listening)
    listening = undefined
  }
}

function rowsOf(options: ServerOptions, basePath: string, figures: HttpMetrics): readonly PathRow<Destination>[] {
  const row = (prefix: string) => (binding: Binding) => {
    const template = prefix + binding.entry.path
    const { method, name } = binding.entry
    return { method, template, binding: { template, figures: figures.route(name), binding } }
  }
  const rows = [...options.bindings.map(row(basePath)), ...(options.rootBindings ?? []).map(row(''))]
  // If a route answers plain requests on the path of a socket, it keeps them.
  const isTaken = (template: string) => rows.some((taken) => taken.method === 'GET' && taken.template === template)
  const templates = (options.sockets ?? []).map((route) => basePath + route.path)
  const free = templates.filter((template) => !isTaken(template))
  return [...rows, ...free.map((template) => ({ method: 'GET', template, binding: 'socket' as const }))]
}

/** With a host and options: the binary accepts both, but its declarations only one of them. */
type ListenExclusively = (host: string, port: number, options: number, listener: (socket: unknown) => void) => void

function listen(app: uws.TemplatedApp, host: string, port: number): Promise<uws.us_listen_socket> {
  return new Promise((resolve, reject) => {
    const listenExclusively = app.listen.bind(app) as unknown as ListenExclusively
    // Exclusive: by default a second process would share the port and take half of the connections.
    listenExclusively(host, port, exclusivePort, (socket) => {
      if (socket) resolve(socket as uws.us_listen_socket)
      else reject(new CannotListen(`cannot listen on ${host}:${port}: in use, or not an address of this machine`))
    })
  })
}

/** `LIBUS_LISTEN_EXCLUSIVE_PORT`, which the declarations only have as a type. */
const exclusivePort = 1

function idle(context: ServerContext, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = context.world.after(graceMs, resolve)
    context.pending.whenEmpty(() => {
      cancel()
      resolve()
    })
  })
}
