import { z } from 'zod'
import { defineRoute, errorAnswers } from '#api/route-entry'
import { confirmationFields, factorRoute, RecoveryCodes } from '#api/second-factors'
import { examplePair, TokenPair, tokenField } from '#api/sign-in'
import { Timestamp } from '#model/identifier'
import { printable } from '#model/text'

/**
 * Second factors: security keys and phones, by WebAuthn. Options are in the form that browsers take, answers in the
 * form that `PublicKeyCredential.toJSON()` and `@simplewebauthn/browser` return, with a few further fields. §5.2.8,
 * contract 2.
 */

const base64url = (charactersMax: number) =>
  z
    .string()
    .max(charactersMax)
    .regex(/^[A-Za-z0-9_-]+$/, 'must be Base64url')

/** At most 1 023 bytes. WebAuthn Level 3 §4, Credential ID. */
const CredentialId = base64url(1364)
/** Attestations with certificates have some kilobytes. */
const Part = base64url(65_536)

/** Loose where browsers add fields from time to time. */
const credentialFields = {
  id: CredentialId,
  rawId: CredentialId,
  type: z.literal('public-key'),
  clientExtensionResults: z.looseObject({}),
  authenticatorAttachment: z.string().max(64).nullish(),
}
const Registration = {
  ...credentialFields,
  response: z.looseObject({
    clientDataJSON: Part,
    attestationObject: Part,
    transports: z.array(z.string().max(32)).max(16).optional(),
  }),
}
const Assertion = {
  ...credentialFields,
  response: z.looseObject({
    clientDataJSON: Part,
    authenticatorData: Part,
    signature: Part,
    userHandle: Part.nullish(),
  }),
}

const CredentialName = printable(64)
const CredentialEntry = z.object({
  id: CredentialId,
  name: CredentialName,
  createdAt: Timestamp,
  lastUsedAt: Timestamp,
  transports: z.array(z.string()),
})

const id = 'q83vEjRWeJq83vEjRWeJqw'
const challenge = 'Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ'
const credential = { id, rawId: id, type: 'public-key', clientExtensionResults: {} }
const clientDataJSON = 'eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0'

export const startWebauthnRegistration = defineRoute('startWebauthnRegistration', {
  ...factorRoute,
  route: 'POST /auth/2fa/webauthn/register/options',
  summary: 'Create options for `navigator.credentials.create`; valid once, for five minutes',
  body: { schema: z.strictObject({ token: tokenField.optional(), ...confirmationFields }).optional() },
  answers: {
    200: { description: 'Options', schema: z.looseObject({ challenge: z.string() }) },
    ...errorAnswers(403, 409, 429, 503),
  },
  example: {
    body: { password: 'correct horse battery' },
    answer: {
      challenge,
      rp: { id: 'localhost', name: 'Device Data Backend' },
      user: { id: 'MlZiN3FZeDlLZA', name: 'ann', displayName: 'ann' },
      pubKeyCredParams: [{ alg: -7, type: 'public-key' }],
      attestation: 'none',
    },
  },
})

export const finishWebauthnRegistration = defineRoute('finishWebauthnRegistration', {
  ...factorRoute,
  route: 'POST /auth/2fa/webauthn/register/verify',
  summary: 'Activate a new credential; completes a sign-in that requires enrolment',
  body: {
    schema: z.strictObject({
      token: tokenField.optional(),
      name: CredentialName.optional(),
      ...confirmationFields,
      ...Registration,
    }),
  },
  answers: {
    200: {
      description: 'Recovery codes if this is the first factor, the pair of tokens if it completes a sign-in',
      schema: z.object({ id: CredentialId, recoveryCodes: RecoveryCodes.optional(), ...TokenPair.partial().shape }),
    },
    ...errorAnswers(403, 409, 429, 503),
  },
  example: {
    body: {
      ...credential,
      name: 'Key ring',
      password: 'correct horse battery',
      response: { clientDataJSON, attestationObject: 'o2NmbXRkbm9uZQ', transports: ['usb'] },
    },
    answer: { id, recoveryCodes: ['ABCD-EFGH-IJKL-MNOP'] },
  },
})

export const startWebauthnAuthentication = defineRoute('startWebauthnAuthentication', {
  ...factorRoute,
  route: 'POST /auth/2fa/webauthn/authenticate/options',
  summary: 'Create options for `navigator.credentials.get`; valid once, for five minutes',
  body: { schema: z.strictObject({ token: tokenField.optional() }).optional() },
  answers: {
    200: { description: 'Options', schema: z.looseObject({ challenge: z.string() }) },
    ...errorAnswers(403, 404, 429, 503),
  },
  example: {
    body: { token: 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln' },
    answer: { challenge, rpId: 'localhost', allowCredentials: [{ id, type: 'public-key', transports: ['usb'] }] },
  },
})

export const finishWebauthnAuthentication = defineRoute('finishWebauthnAuthentication', {
  ...factorRoute,
  route: 'POST /auth/2fa/webauthn/authenticate/verify',
  summary: 'Complete a sign-in with a credential, or confirm the user of a session',
  body: { schema: z.strictObject({ token: tokenField.optional(), ...Assertion }) },
  answers: {
    200: { description: 'The pair of tokens if it completes a sign-in, otherwise empty', schema: TokenPair.partial() },
    ...errorAnswers(403, 429, 503),
  },
  example: {
    body: {
      ...credential,
      token: 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln',
      response: { clientDataJSON, authenticatorData: 'SZYN5YgOjGh0NBcP', signature: 'MEUCIQDx' },
    },
    answer: examplePair,
  },
})

export const listWebauthnCredentials = defineRoute('listWebauthnCredentials', {
  route: 'GET /auth/2fa/webauthn/credentials',
  summary: `List the caller's own credentials`,
  access: 'user or proof',
  answers: { 200: { description: 'Credentials', schema: z.array(CredentialEntry) }, ...errorAnswers(400, 403) },
  example: {
    answer: [
      { id, name: 'Key ring', createdAt: 1_790_000_000_000, lastUsedAt: 1_790_000_000_000, transports: ['usb'] },
    ],
  },
})

export const deleteWebauthnCredential = defineRoute('deleteWebauthnCredential', {
  ...factorRoute,
  route: 'DELETE /auth/2fa/webauthn/credentials/:id',
  summary: 'Delete a credential; the other sessions end',
  parameters: z.object({ id: CredentialId }),
  body: { schema: z.strictObject(confirmationFields).optional() },
  answers: { 204: { description: 'Deleted' }, ...errorAnswers(403, 404, 409, 429, 503) },
  example: { parameters: { id }, body: { password: 'correct horse battery' } },
})
