import { z } from 'zod'
import { pageFields } from '#api/fields'
import { exampleGroup } from '#api/groups'
import { timeField } from '#api/history'
import { defineRoute } from '#api/route-entry'
import { crnCharactersMax, ResourceIdentifier } from '#model/crn'
import { Timestamp } from '#model/identifier'

/** The changes and sign-ins of users and keys, also refused ones. Contract 12. */

/** Query fields of lists that begin with the newest entry. */
export const logFields = { ...pageFields, from: timeField.optional(), to: timeField.optional() }
const LogQuery = z.object(logFields)
export type LogQuery = z.infer<typeof LogQuery>

/** `user`: CRN of the user or key, or `crn#user:anonymous`. `path`: as received, without the query. */
const AuditEntry = z.object({
  at: Timestamp,
  user: z.string(),
  name: z.string(),
  address: z.string(),
  method: z.string(),
  path: z.string(),
  /** CRN of the resource that the request is about. Absent: unknown. */
  resourceIdentifier: ResourceIdentifier.optional(),
  status: z.int(),
})

const AuditQuery = z.object({ ...logFields, user: z.string().min(1).max(crnCharactersMax).optional() })

export const listAudit = defineRoute('listAudit', {
  route: 'GET /audit',
  summary: 'List the changes and sign-ins of users and keys of the last 90 days, also refused ones, newest first',
  access: { resource: 'audit', action: 'read', within: 'tenant' },
  query: AuditQuery,
  answers: { 200: { description: 'Changes and sign-ins', schema: z.array(AuditEntry) } },
  example: {
    query: { user: 'ann', from: '-7d', limit: '100' },
    answer: [
      {
        ...{ at: 1_790_000_000_000, user: 'crn#user:5Tz8vKq3Mn', name: 'ann', address: '192.0.2.7' },
        ...{ method: 'DELETE', path: `/api/v1/groups/${exampleGroup}` },
        ...{ resourceIdentifier: `crn#group:${exampleGroup}`, status: 204 },
      },
    ],
  },
})
