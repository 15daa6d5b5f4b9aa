import { about } from '#api/about'
import { known, securitySchemes } from '#api/access'
import { answerHeaders } from '#api/answer-headers'
import { chapters } from '#api/chapters'
import { type JsonSchema, SchemaCollection } from '#api/json-schema'
import { namedSchemas } from '#api/named-schemas'
import { generalAnswerOf, generalAnswers, operationOf } from '#api/operation'
import { requestHeaders } from '#api/request-headers'
import { schemaNotes } from '#api/schema-notes'
import { type Paths, shareAnswers } from '#api/shared-answers'

const intro = `Devices offer services, services have numbered properties. Applications read their state, receive its
changes as events, and write to devices.

* **Paths** are relative to \`/api/v1\`; the public keys are also at the root. **JSON** in UTF-8; fields of a body that
  are not listed are refused, unknown names in a query are ignored. **Times** are Unix milliseconds.
* **Lists** are arrays in ascending order; with \`limit\` in pages, the next one in \`Link\`.
* **Errors**: 400 with \`details\` if a body or a query is not valid; 403 is empty; resources outside of the caller's grants
  are 404, like missing ones. Every answer has \`X-Request-Id\`, which is also in the log.
* **Without authentication** (\`IAM=off\`) credentials are ignored, and the paths below \`/iam\` and \`/auth\`, except
  \`/iam/me\`, are 404.
* The websockets of events and of devices are described by the AsyncAPI document. The dashboard, \`/docs\`
  and \`/metrics\` are at the root.`

/** All HTTP routes, as OpenAPI 3.1. https://spec.openapis.org/oas/v3.1.1.html */
export function openApiDocument(): JsonSchema {
  const collection = new SchemaCollection({ named: namedSchemas(), notes: schemaNotes, target: 'draft-2020-12' })
  const paths: Paths = {}
  for (const { name, entries } of chapters) {
    for (const entry of entries) {
      const path = entry.path.replace(/:(\w+)/g, '{$1}')
      paths[path] = { ...paths[path], [entry.method.toLowerCase()]: operationOf(entry, name, collection) }
    }
  }
  const general = Object.keys(generalAnswers).map((status) => [status, generalAnswerOf(Number(status), collection)])
  const responses = shareAnswers(paths, Object.fromEntries(general))
  return collection.settle({
    openapi: '3.1.1',
    info: { ...about, description: intro },
    servers: [{ url: '/api/v1' }],
    security: known,
    tags: chapters.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      securitySchemes,
      parameters: requestHeaders,
      headers: answerHeaders,
      responses,
    },
  })
}
