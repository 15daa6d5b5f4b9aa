import { tokenCheck } from '#access/secret-text'
import { defineRoute } from '#api/entry'
import { type Binding, bind, type Call } from '#http/call'
import { unauthenticated } from '#model/caller'
import { Problem } from '#model/problem'
import { mustBeFromHere } from '#routes/from-here'
import { readTurnsOf } from '#routes/read-slices'
import { Slices } from '#runtime/slices'
import type { World } from '#runtime/world'

export type MetricsForm = 'prometheus' | 'openmetrics'

/** All metrics, as text. */
export interface Metrics {
  contentTypeOf(form: MetricsForm): string
  /** One metric in each. Making one does not wait for anything that takes long. */
  pieces(form: MetricsForm): AsyncIterable<string>
}

export interface MetricsRouteOptions {
  readonly world: World
  readonly metrics: Metrics
  /** Undefined: this machine itself may read them, and nobody else. */
  readonly token: string | undefined
}

/** At the root, and for who watches over the server: no part of the API below `/api/v1`. Contract 1.1, 8. */
const readMetrics = defineRoute({
  name: 'readMetrics',
  method: 'GET',
  path: '/metrics',
  source: 'contract 8',
  summary: 'Figures in the form of Prometheus, or of OpenMetrics where that is preferred',
  // By a token of its own, or by where it comes from.
  access: 'none',
  answers: {
    200: { description: 'The figures, as text' },
    401: { description: '`METRICS_TOKEN` is set, and was not shown as Bearer' },
    403: { description: 'It is not set, and the request does not come from this machine itself' },
  },
  example: { status: 200 },
})

/** For so long, and up to so much, metrics are made before the loop is given back and they are handed over. */
const sliceMs = 0.5
const pieceCharacters = 16 * 1024

/**
 * Who answers what whoever watches over it asks. With a token by that alone; without one only where nobody else can have
 * asked. Contract 8.
 */
export function metricsRoutes({ world, metrics, token }: MetricsRouteOptions): Binding[] {
  const isToken = tokenCheck(token)
  return [
    bind(readMetrics, (call) => {
      if (token === undefined) mustBeFromHere(call)
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
  return new Problem('unauthorized', 'METRICS_TOKEN is needed as Bearer', { headers })
}

/** OpenMetrics where it is asked for, and liked no less than other text. RFC 9110 §12.5.1. */
function preferredForm(accept: string): MetricsForm {
  const qualityOf = (type: string) => {
    const ranges = accept.split(',').filter((range) => range.trim().toLowerCase().startsWith(type))
    return Math.max(0, ...ranges.map((range) => Number(/;\s*q=([\d.]+)/i.exec(range)?.[1] ?? 1)))
  }
  const open = qualityOf('application/openmetrics-text')
  return open > 0 && open >= qualityOf('text/plain') ? 'openmetrics' : 'prometheus'
}

/**
 * In turn with other long answers, and no further than the other side takes it: of one who does not read, a few kilobytes
 * are kept.
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
