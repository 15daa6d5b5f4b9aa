import * as uws from 'uWebSockets.js'
import type { Authenticate } from '#http/authentication'
import { bodyPaceMs } from '#http/body-reader'
import type { AnyWebsocketRoute, Binding, IdempotencyGuard } from '#http/call'
import { HttpMetrics } from '#http/http-metrics'
import { Cors, type CorsOptions, Forwarding } from '#http/origins'
import { PendingRequests } from '#http/pending-requests'
import { type Destination, openExchange, receive } from '#http/request-handler'
import { type PathRow, pathTable, requestIds } from '#http/request-head'
import { type Audit, OverloadLog, RefusedOrigins, type ServerLog } from '#http/request-log'
import type { OtherNodes, ServerContext } from '#http/server-context'
import { closeAll, LostMessageGuard, type UwsSocket } from '#http/uws-socket'
import { serveSockets } from '#http/websocket'
import { Problem } from '#model/problem'
import { ConcurrencyLimit } from '#runtime/fair-queue'
import type { SocketPublisher } from '#runtime/socket'
import type { World } from '#runtime/world'

export interface ServerOptions {
  readonly world: World
  readonly logging: {
    readonly log: ServerLog
    /** The logged form of a path without a known route, which may contain tickets or tokens. Default: the path. */
    readonly redactPath?: (path: string) => string
  }
  /** Port 0: any free port. */
  readonly address: { readonly host: string; readonly port: number }
  readonly routes: ServerRoutes
  readonly authentication: {
    readonly authenticate: Authenticate
    /** Called for malformed requests to sign-in routes, to count them. @throws Problem `too_many_requests` */
    readonly failedSignIn?: (address: string) => void
  }
  readonly origins: {
    readonly cors: CorsOptions
    /** Whether `X-Forwarded-…` headers count. Then make sure that only a trusted proxy can connect. Default: no. */
    readonly isProxyTrusted?: boolean
  }
  readonly limits?: ServerLimits
  /** The other nodes of the cluster. Absent: this server is not a node of a cluster. */
  readonly otherNodes?: OtherNodes | undefined
  readonly changes?: {
    /** Lets repeated requests take effect once. Default: `Idempotency-Key` is ignored. */
    readonly idempotency?: IdempotencyGuard
    /** The log of changes and sign-ins. Default: requests are not recorded. */
    readonly audit?: Audit
  }
  /** Metrics of requests and websockets. */
  readonly metrics?: HttpMetrics
}

interface ServerRoutes {
  readonly bindings: readonly Binding[]
  /** Routes whose paths get no prefix. */
  readonly rootBindings?: readonly Binding[]
  readonly sockets?: readonly AnyWebsocketRoute[]
  /** Websockets whose paths get no prefix. */
  readonly rootSockets?: readonly AnyWebsocketRoute[]
  /** The error for an unknown path, if there is more to say than 404. */
  readonly notFound?: (path: string) => Problem | undefined
}

export interface ServerLimits {
  /** The largest body of entries without a limit of their own. Default 1 MiB. */
  readonly bodyBytesMax?: number
  /** The largest streamed body of entries without a limit of their own. Default 256 MiB. */
  readonly streamedBytesMax?: number
  /** The most unanswered requests of one user. Default 1 000. */
  readonly requestsPerUserMax?: number
  /** The time after which a request is answered 503, unless its answer has begun. Default 60 s. */
  readonly requestDeadlineMs?: number
  /** The time for each 112 KiB of a body, and for the rest. A slower body is answered 408. Default 7 s. */
  readonly bodyPaceMs?: number
  /** How long `close` waits for running requests. Default 10 s. */
  readonly closeGraceMs?: number
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

/** The prefix of `bindings` and `sockets`. */
const basePath = '/api/v1'

/** The address is not available. The message names the address. */
export class CannotListen extends Error {}

/**
 * The most unanswered requests of one user. A browser sends six at a time, a program that waits for devices some
 * dozens. Each request may hold an answer of a megabyte while the client reads it slowly.
 */
const requestsPerUserMax = 1_000
const requestsPerTenantMax = 4_000

/** Opens the server. Rejects with CannotListen if the address is not available. */
export async function openServer(options: ServerOptions): Promise<Server> {
  const { world, logging, address, routes, authentication, origins, limits = {} } = options
  const { log, redactPath = (path) => path } = logging
  const concurrency = {
    perUserMax: limits.requestsPerUserMax ?? requestsPerUserMax,
    perTenantMax: requestsPerTenantMax,
  }
  const requests = new ConcurrencyLimit({ ...concurrency, things: 'requests' })
  const { cors, isProxyTrusted = false } = origins
  const context: ServerContext = {
    world,
    log: {
      server: log,
      overloads: new OverloadLog(world, log, 'more requests were refused'),
      refusedOrigins: new RefusedOrigins(log),
      brokenOff: new OverloadLog(world, log, 'more answers were broken off'),
      requestId: requestIds(world),
      redactPath,
    },
    origins: {
      cors: new Cors(cors),
      forwarding: new Forwarding({
        isProxyTrusted,
        publicUrls: cors.publicUrls,
        isFromNode: (headers) => options.otherNodes?.isFromNode(headers) ?? false,
      }),
    },
    load: {
      pending: new PendingRequests(world, limits.requestDeadlineMs ?? 60_000, requests),
      receiving: new PendingRequests(world, limits.bodyPaceMs ?? bodyPaceMs),
      requests,
      work: new ConcurrencyLimit({ ...concurrency, things: 'requests in progress, also of closed connections,' }),
      allUnread: { bytes: 0 },
    },
    limits: {
      bodyBytesMax: limits.bodyBytesMax ?? 1024 * 1024,
      streamedBytesMax: limits.streamedBytesMax ?? 256 * 1024 * 1024,
    },
    metrics: options.metrics ?? new HttpMetrics(),
    otherNodes: options.otherNodes,
    idempotency: options.changes?.idempotency,
    audit: options.changes?.audit,
    failedSignIn: authentication.failedSignIn ?? (() => {}),
    notFound: (path) => routes.notFound?.(path) ?? new Problem('not_found'),
    isStopping: false,
  }
  const sockets = new Set<UwsSocket>()
  const lostMessageGuard = new LostMessageGuard()

  const app = uws.App()
  for (const { template, route } of socketRoutesOf(routes)) {
    serveSockets(app, context, sockets, lostMessageGuard, template, route)
  }
  const paths = pathTable(rowsOf(routes, context.metrics))
  app.any('/*', (response, request) => {
    openExchange(context, response, request, (exchange) => receive(exchange, paths, authentication.authenticate))
  })

  let isClosed = false
  let listening: uws.us_listen_socket | undefined = await listen(app, address)
  const port = uws.us_socket_local_port(listening as uws.us_socket)

  return {
    port,
    publisher: {
      publish(topic, message) {
        lostMessageGuard.refuseDuringReport('publish')
        if (!isClosed) app.publish(topic, message, false)
      },
    },
    inFlight: () => context.load.pending.size,
    openSockets: () => sockets.size,
    stopListening,
    closeSockets: (code, reason) => closeAll(sockets, world, code, reason),
    async close() {
      stopListening()
      await idle(context, limits.closeGraceMs ?? 10_000)
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

function rowsOf(routes: ServerRoutes, metrics: HttpMetrics): readonly PathRow<Destination>[] {
  const row = (prefix: string) => (binding: Binding) => {
    const template = prefix + binding.entry.path
    const { method, name } = binding.entry
    return { method, template, binding: { template, metrics: metrics.route(name), binding } }
  }
  const rows = [...routes.bindings.map(row(basePath)), ...(routes.rootBindings ?? []).map(row(''))]
  // A route that answers plain requests on the path of a socket keeps that path.
  const isTaken = (template: string) => rows.some((taken) => taken.method === 'GET' && taken.template === template)
  const free = socketRoutesOf(routes).filter(({ template }) => !isTaken(template))
  return [...rows, ...free.map(({ template }) => ({ method: 'GET', template, binding: 'socket' as const }))]
}

function socketRoutesOf({ sockets = [], rootSockets = [] }: ServerRoutes) {
  const row = (prefix: string) => (route: AnyWebsocketRoute) => ({ template: prefix + route.path, route })
  return [...sockets.map(row(basePath)), ...rootSockets.map(row(''))]
}

/** `listen` with a host and options. The binary accepts both together, but its declarations do not. */
type ListenExclusively = (host: string, port: number, options: number, listener: (socket: unknown) => void) => void

function listen(app: uws.TemplatedApp, { host, port }: ServerOptions['address']): Promise<uws.us_listen_socket> {
  return new Promise((resolve, reject) => {
    const listenExclusively = app.listen.bind(app) as unknown as ListenExclusively
    // By default, a second process could share the port, and would take half of the connections.
    listenExclusively(host, port, exclusivePort, (socket) => {
      if (socket) resolve(socket as uws.us_listen_socket)
      else reject(new CannotListen(`cannot listen on ${host}:${port}: in use, or not an address of this machine`))
    })
  })
}

/** The value of `LIBUS_LISTEN_EXCLUSIVE_PORT`, which the declarations only have as a type. */
const exclusivePort = 1

function idle(context: ServerContext, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = context.world.after(graceMs, resolve)
    context.load.pending.whenEmpty(() => {
      cancel()
      resolve()
    })
  })
}
