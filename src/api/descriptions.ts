import { z } from 'zod'
import { defineRoute, errorAnswers, notModified } from '#api/route-entry'
import { version } from '#model/version'

/** Machine-readable descriptions of the API. Contract 8. */

const info = { title: 'Device Data Backend', version: '0.1.0' }

export const readOpenApi = defineRoute('readOpenApi', {
  route: 'GET /openapi.json',
  summary: 'All routes, as OpenAPI 3.1',
  access: 'none',
  answers: {
    200: {
      description: 'The document',
      schema: z.looseObject({ openapi: z.string(), info: z.looseObject({ title: z.string(), version: z.string() }) }),
    },
    ...notModified,
    ...errorAnswers(404),
  },
  example: { answer: { openapi: '3.1.1', info } },
})

export const readAsyncApi = defineRoute('readAsyncApi', {
  route: 'GET /asyncapi.json',
  summary: 'The device link and the stream of events, as AsyncAPI 3.0',
  access: 'none',
  answers: {
    200: {
      description: 'The document',
      schema: z.looseObject({ asyncapi: z.string(), info: z.looseObject({ title: z.string(), version: z.string() }) }),
    },
    ...notModified,
    ...errorAnswers(404),
  },
  example: { answer: { asyncapi: '3.0.0', info } },
})

/** The common part of `info` in both documents. */
export const about = {
  title: 'Device Data Backend',
  version,
  license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
} as const

/** The text of a generated document: indented, so that changes are readable in a diff. */
export function documentText(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`
}
