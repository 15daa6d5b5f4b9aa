import { tokenMatcher } from '#access/secret-text'
import { defineRoute } from '#api/route-entry'
import { type Binding, bind, type Call } from '#http/call'
import { unauthenticated } from '#model/caller'
import { Problem } from '#model/problem'
import { mustBeLocal } from '#routes/local-request'
import { readTurnsOf, Slices } from '#runtime/slices'
import type { World } from '#runtime/world'

export type MetricsForm = 'prometheus' | 'openmetrics'

/** All metrics, as text. */
export interface Metrics {
  contentTypeOf(form: MetricsForm): string
  /** One metric each. The creation of a piece never takes long. */
  pieces(form: MetricsForm): AsyncIterable<string>
}

export interface MetricsRouteOptions {
  readonly world: World
  readonly metrics: Metrics
  /** The Bearer token that gives access. Undefined: only this machine may read the metrics. */
  readonly token: string | undefined
}

/** At the root, for monitoring systems: not part of the API below `/api/v1`. Contract 1.1, 8. */
const readMetrics = defineRoute('readMetrics', {
  route: 'GET /metrics',
  summary: 'Metrics in Prometheus format, or OpenMetrics if preferred',
  // Access by its own token, or from this machine.
  access: 'none',
  answers: {
    200: { description: 'The metrics, as text' },
    401: { description: '`METRICS_TOKEN` is set and was not sent as Bearer token' },
    403: { description: '`METRICS_TOKEN` is not set and the request does not come from this machine' },
  },
})

/** Finished metrics are sent after this time or at this size, and the loop continues. */
const sliceMs = 0.5
const pieceCharacters = 16 * 1024

/** Routes for monitoring. With a token, only that gives access; without one, only direct local requests. Contract 8. */
export function metricsRoutes({ world, metrics, token }: MetricsRouteOptions): Binding[] {
  const isToken = tokenMatcher(token)
  return [
    bind(readMetrics, (call) => {
      if (token === undefined) mustBeLocal(call)
      else if (!isToken(bearerOf(call))) throw unauthorized()
      const form = preferredForm(call.header('accept'))
      return {
        status: 200,
        headers: { 'Content-Type': metrics.contentTypeOf(form), 'Cache-Control': 'no-store' },
        chunks: sliced(world, metrics.pieces(form)),
      }
    }),
  ]
}

function bearerOf(call: Call): string {
  return /^bearer +([^\s,]+)$/i.exec(call.header('authorization'))?.[1] ?? ''
}

function unauthorized(): Problem {
  const headers = { 'WWW-Authenticate': 'Bearer realm="metrics"' }
  return new Problem('unauthorized', 'METRICS_TOKEN is required as Bearer token', { headers })
}

/** OpenMetrics if the client accepts it at least as much as plain text. RFC 9110 §12.5.1. */
function preferredForm(accept: string): MetricsForm {
  const qualityOf = (type: string) => {
    const ranges = accept.split(',').filter((range) => range.trim().toLowerCase().startsWith(type))
    return Math.max(0, ...ranges.map((range) => Number(/;\s*q=([\d.]+)/i.exec(range)?.[1] ?? 1)))
  }
  const open = qualityOf('application/openmetrics-text')
  return open > 0 && open >= qualityOf('text/plain') ? 'openmetrics' : 'prometheus'
}

/**
 * Alternates with other long answers, and sends no faster than the client reads. So only a few kilobytes are buffered
 * for a client that does not read.
 */
async function* sliced(world: World, pieces: AsyncIterable<string>): AsyncGenerator<string> {
  const turns = readTurnsOf(world)
  await turns.next(unauthenticated)
  const slice = new Slices(world, sliceMs)
  let text = ''
  for await (const piece of pieces) {
    text += piece
    if (text.length < pieceCharacters && !slice.isOver) continue
    yield text
    text = ''
    await turns.next(unauthenticated)
    slice.begin()
  }
  if (text !== '') yield text
}
