import { z } from 'zod'
import { defineRoute, errorAnswers } from '#api/route-entry'
import { examplePair, TokenPair, tokenField } from '#api/sign-in'
import { SubmittedPassword } from '#model/user'

/** A TOTP code, or a recovery code with or without its dashes. Any other text is a wrong code. */
export const factorCodeField = z.string().max(64)

/**
 * A signed-in user gives one of these to confirm their identity before a second factor is turned on or off. A recent
 * confirmation in the same session, also by WebAuthn, counts too. Contract 2, Second factor.
 */
export const confirmationFields = { password: SubmittedPassword.optional(), code: factorCodeField.optional() }

/** The common part of all routes about second factors. */
export const factorRoute = { access: 'user or proof', isSecret: true } as const

/** Second factors: one-time codes and recovery codes. §5.2.8, contract 2. */

const token = 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln'
const WithCode = z.strictObject({ token: tokenField, code: factorCodeField })

export const RecoveryCodes = z.array(z.string())

export const useTotp = defineRoute('useTotp', {
  ...factorRoute,
  route: 'POST /auth/2fa/totp',
  summary: 'Complete a sign-in with a one-time code',
  body: { schema: WithCode },
  answers: { 200: { description: 'The pair', schema: TokenPair }, ...errorAnswers(429, 503) },
  example: { body: { token, code: '492039' }, answer: examplePair },
})

export const useRecoveryCode = defineRoute('useRecoveryCode', {
  ...factorRoute,
  route: 'POST /auth/2fa/recovery',
  summary: 'Complete a sign-in with a recovery code, which is valid once',
  body: { schema: WithCode },
  answers: { 200: { description: 'The pair', schema: TokenPair }, ...errorAnswers(429, 503) },
  example: { body: { token, code: 'ABCD-EFGH-IJKL-MNOP' }, answer: examplePair },
})

export const enrollTotp = defineRoute('enrollTotp', {
  ...factorRoute,
  route: 'POST /auth/2fa/totp/enroll',
  summary: 'Create a secret for one-time codes; it takes effect when it is activated',
  body: { schema: z.strictObject({ token: tokenField.optional(), ...confirmationFields }).optional() },
  answers: {
    200: { description: 'The secret', schema: z.object({ secret: z.string(), otpauthUri: z.string() }) },
    ...errorAnswers(403, 429, 503),
  },
  example: {
    body: { password: 'correct horse battery' },
    answer: {
      secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
      otpauthUri: 'otpauth://totp/device-data-backend:ann?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    },
  },
})

export const activateTotp = defineRoute('activateTotp', {
  ...factorRoute,
  route: 'POST /auth/2fa/totp/activate',
  summary: 'Activate one-time codes with the first of them; completes a sign-in that requires enrolment',
  // The code proves the new secret, and does not confirm the user.
  body: {
    schema: z.strictObject({
      token: tokenField.optional(),
      code: factorCodeField,
      password: SubmittedPassword.optional(),
    }),
  },
  answers: {
    200: {
      description: 'New recovery codes, which replace the earlier ones; the pair of tokens if it completes a sign-in',
      schema: z.object({ recoveryCodes: RecoveryCodes, ...TokenPair.partial().shape }),
    },
    ...errorAnswers(403, 429, 503),
  },
  example: { body: { token, code: '492039' }, answer: { recoveryCodes: ['ABCD-EFGH-IJKL-MNOP'], ...examplePair } },
})

export const removeTotp = defineRoute('removeTotp', {
  ...factorRoute,
  route: 'DELETE /auth/2fa/totp',
  summary: 'Turn off one-time codes; the other sessions end',
  body: { schema: z.strictObject(confirmationFields).optional() },
  answers: { 204: { description: 'Deleted' }, ...errorAnswers(403, 404, 409, 429, 503) },
  example: { body: { password: 'correct horse battery' } },
})
