import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { errorAnswers } from '#api/error-answers'
import { TenantIdentifier } from '#model/identifier'
import { Grant } from '#model/scope'
import { SecondFactor } from '#model/user'

/** The caller of a request. Contract 2. */
export const readMe = defineRoute('readMe', {
  route: 'GET /iam/me',
  source: 'contract 2',
  summary: 'Read the caller and their permissions',
  access: 'session',
  answers: {
    200: {
      description: 'The caller',
      schema: z.object({
        name: z.string(),
        tenant: TenantIdentifier,
        roles: z.array(z.string()),
        grants: z.array(Grant),
        /** Of a signed-in user with an address. */
        email: z.string().optional(),
        twoFactor: z.array(SecondFactor).optional(),
      }),
    },
    ...errorAnswers(401),
  },
  example: {
    status: 200,
    answer: {
      name: 'anonymous',
      tenant: 'default',
      roles: [],
      grants: [{ permissions: { '*': ['*'] }, devices: ['*'], services: ['*'] }],
    },
  },
})
