import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { errorAnswers } from '#api/error-answers'
import { Password, UserName } from '#model/user'

/** Sign-up with an invitation, and a new password with a code. Contract 2, Sign-up. */
export const signUp = defineRoute('signUp', {
  route: 'POST /iam/signup',
  source: 'contract 2',
  summary: 'Set the password with an invitation or reset code; all earlier sessions end',
  access: 'none',
  isSecret: true,
  body: {
    schema: z.strictObject({
      // As typed: an impossible name is refused like a wrong code.
      name: z.string().max(256),
      code: z.string().max(256),
      password: Password,
    }),
  },
  answers: {
    201: { description: 'The account is active', schema: z.object({ name: UserName }) },
    ...errorAnswers(400, 401, 429, 503),
  },
  example: {
    body: { name: 'bob', code: '7bTq5mXwZr2NcVd9KpLhGf', password: 'correct horse battery' },
    status: 201,
    answer: { name: 'bob' },
  },
})
