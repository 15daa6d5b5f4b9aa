import { defineRoute } from '#api/entry'
import { refused } from '#api/refusals'

/** Everything that a server has stored, in one answer. Contract 8. */

export const readBackup = defineRoute({
  name: 'readBackup',
  method: 'GET',
  path: '/backup',
  source: 'contract 8',
  summary: 'A backup of all tenants at one moment, all secrets in it; for who may do everything everywhere',
  access: { resource: 'tenants', action: 'read', within: 'tenant' },
  isSecret: true,
  answers: {
    200: {
      description: 'The backup, to be kept as it is; whole only if its end mark was read',
      contentType: 'application/octet-stream',
    },
    ...refused(401, 403, 409, 503),
  },
  example: { status: 200 },
})
