import type { MetricRow } from '#app/metrics/row'
import { endings, requestSecondsBounds } from '#http/http-metrics'
import { problemKinds } from '#model/problem'

const routeLabel = 'name of the route, path of a websocket, or `none` if there is no route'

/** HTTP requests and websockets. */
export const callRows: readonly MetricRow[] = [
  {
    name: 'ddb_http_requests_total',
    type: 'counter',
    help: 'Requests that were answered or interrupted; combinations without a request are left out',
    labels: { route: routeLabel, ending: '`1xx` … `5xx`, `aborted`' },
    read: ({ http }) =>
      [...http.routes].flatMap(({ name: route, ended }) =>
        endings.flatMap((ending, place) => {
          const value = ended[place] ?? 0
          return value === 0 ? [] : [{ labels: { route, ending }, value }]
        }),
      ),
  },
  {
    name: 'ddb_http_request_duration_seconds',
    type: 'histogram',
    bounds: requestSecondsBounds,
    help: 'Time from the first byte of a request to the last byte of its answer',
    labels: { route: routeLabel },
    read: ({ http }) =>
      [...http.routes].flatMap(({ name: route, seconds }) =>
        seconds.count === 0 ? [] : [{ labels: { route }, histogram: seconds }],
      ),
  },
  {
    name: 'ddb_http_requests_in_flight',
    type: 'gauge',
    help: 'Requests whose answer is not complete',
    read: ({ inFlight }) => inFlight(),
  },
  {
    name: 'ddb_http_refusals_total',
    type: 'counter',
    help: 'Requests and upgrades that were refused, or failed because of a fault of the server',
    labels: { code: 'the reason, by its name in the server', status: 'status of the answer' },
    read: ({ http }) =>
      Object.entries(problemKinds).map(([code, { status }]) => ({
        labels: { code, status: String(status) },
        value: http.refusals[code as keyof typeof problemKinds],
      })),
  },
  {
    name: 'ddb_websockets_opened_total',
    type: 'counter',
    help: 'Websockets that were opened',
    labels: { path: 'path of the websocket' },
    read: ({ http }) => [...http.sockets].map(({ path, opened }) => ({ labels: { path }, value: opened })),
  },
  {
    name: 'ddb_websockets_closed_total',
    type: 'counter',
    help: 'Websockets that were closed, by either side',
    labels: { path: 'path of the websocket', code: 'a standard code, a code of this server, or `other`' },
    read: ({ http }) =>
      [...http.sockets].flatMap(({ path, closed }) =>
        [...closed].map(([code, { count }]) => ({ labels: { path, code }, value: count })),
      ),
  },
]
