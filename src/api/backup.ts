import { z } from 'zod'
import { booleanField } from '#api/fields'
import { defineRoute, errorAnswers } from '#api/route-entry'

/** A backup of all data that a server has stored, in one answer. Contract 8. */

export const readBackup = defineRoute('readBackup', {
  route: 'GET /backup',
  summary: 'Read a backup of all tenants at one moment, including all secrets',
  access: { resource: 'tenants', action: 'read', within: 'tenant' },
  isSecret: true,
  query: z.strictObject({ history: booleanField.optional() }),
  answers: {
    200: {
      description: 'The backup, to be stored unchanged; it is complete only if it has its end mark',
      contentType: 'application/octet-stream',
    },
    ...errorAnswers(409, 503),
  },
})
