import type { ServerContext } from '#http/server-context'
import { Problem } from '#model/problem'

/** The parts of an exchange that its log entries contain. */
interface LoggedExchange {
  readonly context: ServerContext
  readonly requestId: string
  readonly method: string
  readonly path: string
  /** The template of its route, if it has one. */
  readonly route: string | undefined
}

export function logBug(exchange: LoggedExchange, error: unknown): void {
  const { server: log } = exchange.context.log
  log.error({ err: error, requestId: exchange.requestId, ...namesOf(exchange) }, 'request failed')
}

/**
 * Logs an answer that was cut off. If the server was overloaded or stopping, this is no bug; any other error is a bug.
 */
export function logAbortedAnswer(exchange: LoggedExchange, error: unknown): void {
  const isTemporary = error instanceof Problem && (error.code === 'overloaded' || error.code === 'stopping')
  if (!isTemporary) logBug(exchange, error)
  else {
    const { requestId } = exchange
    exchange.context.log.brokenOff.add(() => ({ ...namesOf(exchange), brokenOff: error.message, requestId }))
  }
}

/** `body`: the text of the body or its length; undefined when the client disconnected. */
export function logLine(exchange: LoggedExchange, status: number, body: number | string | undefined, ms: number): void {
  const { server: log, overloads } = exchange.context.log
  // 504 means that a device did not answer, which is no fault of the server.
  const isFault = status >= 500 && status !== 504
  if (!isFault && !log.isLevelEnabled('debug')) return
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body
  const line = () => ({ ...namesOf(exchange), status, ms, bytes, requestId: exchange.requestId })
  if (bytes === undefined) log.debug({ ...line(), aborted: true }, 'request aborted')
  else if (status === 503) overloads.add(line)
  else if (isFault) log.error(line(), 'request')
  else log.debug(line(), 'request')
}

function namesOf({ context, method, path, route }: LoggedExchange): { method: string; path: string } {
  return { method, path: route ?? context.log.redactPath(path) }
}
