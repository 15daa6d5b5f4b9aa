import { defineRoute } from '#api/entry'

/** Figures for who watches over the server. At the root, not below `/api/v1`. Contract 1.1, 8. */
export const readMetrics = defineRoute({
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
