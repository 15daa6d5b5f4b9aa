import { z } from 'zod'
import { defineRoute, ErrorBody } from '#api/route-entry'

/** The nodes of a cluster. Contract 11. `GET /health/status` shows them. */

/** The path, outside `/api/v1`, where nodes download a copy of each other's database. */
export const imagePath = '/cluster/image'

export const handOver = defineRoute('handOver', {
  route: 'POST /cluster/hand-over',
  summary: 'Make another node the owner, within two seconds; `GET /health/status` shows the owner',
  access: { resource: 'tenants', action: 'update', within: 'tenant' },
  body: { schema: z.strictObject({ node: z.string().min(1).max(255).describe('The name of a running node') }) },
  answers: {
    204: { description: 'The hand-over begins' },
    404: { description: 'No running node has this name, or the server is not a node of a cluster', schema: ErrorBody },
    409: { description: 'The node is the owner, or another hand-over is in progress', schema: ErrorBody },
  },
  example: { body: { node: 'b' } },
})
