import { type ProblemCode, problemKinds } from '#model/problem'
import { closeCodes } from '#runtime/close-codes'
import { Histogram } from '#runtime/histogram'

/** How an answer ended: the class of its status, or the connection was closed, by either side, before its last byte. */
export const endings = ['1xx', '2xx', '3xx', '4xx', '5xx', 'aborted'] as const
const abortedPlace = endings.length - 1

/** Seconds. Most answers take less than a millisecond; some wait for a device, a password or a download. */
export const requestSecondsBounds = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]

/** Metrics of the requests of one route. */
export class RouteMetrics {
  readonly name: string
  /** The number of answers for each ending, in the order of `endings`. */
  readonly ended: number[] = endings.map(() => 0)
  /** The time from the head of the request to the last byte of the answer. Aborted requests do not count. */
  readonly seconds = new Histogram(requestSecondsBounds)

  constructor(name: string) {
    this.name = name
  }

  answered(status: number, ms: number): void {
    const place = Math.floor(status / 100) - 1
    this.ended[place] = (this.ended[place] ?? 0) + 1
    this.seconds.observe(ms / 1000)
  }

  aborted(): void {
    this.ended[abortedPlace] = (this.ended[abortedPlace] ?? 0) + 1
  }
}

/**
 * Codes with which websockets are closed: the server's own codes, and the usual codes of RFC 6455 §7.4.1. All other
 * codes are counted together.
 */
const knownCloseCodes = [1000, 1001, 1005, 1006, 1009, ...Object.values(closeCodes).map(({ code }) => code)]
const otherCode = 'other'

/** The websockets of one path. */
export class SocketMetrics {
  readonly path: string
  opened = 0
  /** Closed websockets by code. Unknown codes of clients count as `other`. */
  readonly closed: ReadonlyMap<string, { count: number }> = new Map(
    [...knownCloseCodes.map(String), otherCode].map((code) => [code, { count: 0 }]),
  )

  constructor(path: string) {
    this.path = path
  }

  ended(code: number): void {
    const closed = this.closed.get(String(code)) ?? this.closed.get(otherCode)
    if (closed) closed.count++
  }
}

/**
 * Metrics of requests and websockets, in plain numbers. Names come from the route table and the list of websocket paths,
 * never from a request, so their number is bounded.
 */
export class HttpMetrics {
  readonly #routes = new Map<string, RouteMetrics>()
  readonly #sockets = new Map<string, SocketMetrics>()
  /** Requests without a route, or refused before the routing. */
  readonly unrouted = this.route('none')
  readonly refusals = Object.fromEntries(Object.keys(problemKinds).map((code) => [code, 0])) as Record<
    ProblemCode,
    number
  >

  /** Returns the same object for the same name. */
  route(name: string): RouteMetrics {
    return madeOnce(this.#routes, name, RouteMetrics)
  }

  /** Returns the same object for the same path. */
  socket(path: string): SocketMetrics {
    return madeOnce(this.#sockets, path, SocketMetrics)
  }

  get routes(): Iterable<RouteMetrics> {
    return this.#routes.values()
  }

  get sockets(): Iterable<SocketMetrics> {
    return this.#sockets.values()
  }
}

function madeOnce<T>(known: Map<string, T>, name: string, Kind: new (name: string) => T): T {
  const metrics = known.get(name) ?? new Kind(name)
  known.set(name, metrics)
  return metrics
}
