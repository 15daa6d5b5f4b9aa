import { base64urlOf } from '#access/base64url'
import { ExpiringMap } from '#access/bounded-map'
import { freshRecoveryCodes, useFactor } from '#access/factor-codes'
import type { FactorConfirmations } from '#access/factor-confirmation'
import {
  accountOf,
  checkFactorLimit,
  completeSignIn,
  enrollingSubject,
  type FactorSubject,
  factorSubject,
  ownerOf,
  signedInSubject,
  wrongFactor,
} from '#access/factor-subject'
import type { ConfirmedRequest, FactorActivated, FactorRequest, TokenPair } from '#access/requests'
import { type SignInParts, tenantOf } from '#access/sign-in'
import { challengeLifetimeMs, type Webauthn } from '#access/webauthn'
import { credentialsMax } from '#actors/account/factors'
import { accountAddress, type CredentialsChanged, factorNames, type StoredCredential } from '#actors/account/state'
import { Problem } from '#model/problem'

/** Enough for 33 new challenges a second. A user whose challenge was evicted has to start again. */
const challengesMax = 10_000
/** WebAuthn §13.4.3 requires at least 16 bytes. */
const challengeBytes = 32

/**
 * The requests about security keys and phones. A challenge is valid once, and only for the session or the 2FA token
 * that it was made for. Contract 2.
 */
export function webauthnFlowsOf(parts: SignInParts, confirmations: FactorConfirmations, webauthn: Webauthn) {
  /** By kind and owner. A challenge is used up even if the signature is wrong. */
  const challenges = new ExpiringMap<string, string>({
    now: () => parts.world.now(),
    lifetimeMs: challengeLifetimeMs,
    sizeMax: challengesMax,
  })
  /** Replaces an earlier challenge of the same owner and kind. */
  const issue = (kind: 'register' | 'authenticate', subject: FactorSubject) => {
    const challenge = base64urlOf(parts.world.random(challengeBytes))
    challenges.set(`${kind} ${subject.owner}`, challenge, ownerOf(subject))
    return challenge
  }

  return {
    async webauthnRegistrationOptions(request: ConfirmedRequest): Promise<object> {
      const subject = await enrollingSubject(parts, request)
      await confirmations.confirm(subject, request, request.origin)
      const { row } = subject
      const present = accountOf(parts, subject).factors.webauthn
      if (present.length >= credentialsMax) {
        throw new Problem('conflict', `a user has at most ${credentialsMax} credentials`)
      }
      const challenge = issue('register', subject)
      return webauthn.registrationOptions({ challenge, user: row.id, name: row.name, present })
    },

    async registerWebauthn(
      request: ConfirmedRequest & { readonly name?: string | undefined; readonly response: object },
    ): Promise<FactorActivated & { readonly id: string }> {
      const subject = await enrollingSubject(parts, request)
      const challenge = challenges.take(`register ${subject.owner}`)
      await confirmations.confirm(subject, request, request.origin)
      const registered = challenge === undefined ? undefined : await webauthn.registered(request.response, challenge)
      if (!registered) throw badRegistration()

      const { row, session: keep } = subject
      // The account may have changed during the check.
      const { factors, version } = accountOf(parts, subject)
      const isFirst = factorNames(factors).length === 0
      const fresh = freshRecoveryCodes(parts)
      const name = request.name ?? `Key ${factors.webauthn.length + 1}`
      const credential: StoredCredential = { ...registered, name, createdAt: parts.world.now(), lastUsedAt: null }
      const changed = (await parts.system.ask(accountAddress(row.tenant, row.id), {
        type: 'add_webauthn',
        version,
        credential,
        recovery: isFirst ? fresh.hashes : undefined,
        keep,
      })) as CredentialsChanged
      const pair = keep === undefined ? await completeSignIn(parts, subject, changed.version, request) : {}
      return { id: registered.id, ...(isFirst && { recoveryCodes: fresh.codes }), ...pair }
    },

    async webauthnAuthenticationOptions(request: FactorRequest): Promise<object> {
      const subject = await factorSubject(parts, request)
      const credentials = accountOf(parts, subject).factors.webauthn
      if (credentials.length === 0) throw new Problem('not_found')
      checkFactorLimit(parts, subject, request.origin)
      const challenge = issue('authenticate', subject)
      return webauthn.authenticationOptions({ challenge, credentials })
    },

    async authenticateWebauthn(request: FactorRequest & { readonly response: object }): Promise<Partial<TokenPair>> {
      const { response, origin } = request
      const subject = await factorSubject(parts, request)
      const { row, owner, version } = subject
      checkFactorLimit(parts, subject, origin)
      const challenge = challenges.take(`authenticate ${owner}`)
      const id = (response as { readonly id?: unknown }).id
      const credential = accountOf(parts, subject).factors.webauthn.find((one) => one.id === id)
      const verdict =
        challenge !== undefined && credential
          ? await webauthn.authenticated(response, challenge, credential)
          : undefined
      if (!verdict || !credential) throw await wrongFactor(parts, subject, origin)
      accountOf(parts, subject)
      const use = { type: 'use_webauthn', id: credential.id, counter: verdict.counter } as const
      await useFactor(parts, subject, origin, parts.system.ask(accountAddress(row.tenant, row.id), use))
      if (version !== undefined) return completeSignIn(parts, subject, version, request)
      confirmations.remember(subject)
      return {}
    },

    async webauthnCredentials(request: FactorRequest) {
      const subject = await signedInSubject(parts, request)
      return accountOf(parts, subject).factors.webauthn.map(({ id, name, createdAt, lastUsedAt, transports }) => ({
        id,
        name,
        createdAt,
        lastUsedAt: lastUsedAt ?? createdAt,
        transports,
      }))
    },

    async removeWebauthn(request: ConfirmedRequest & { readonly id: string }): Promise<void> {
      const subject = await signedInSubject(parts, request)
      await confirmations.confirm(subject, request, request.origin)
      const { row, session: keep } = subject
      const { version } = accountOf(parts, subject)
      const isRequired = tenantOf(parts, row).twoFactor === 'required'
      const command = { type: 'remove_webauthn', version, id: request.id, keep, isRequired } as const
      await parts.system.ask(accountAddress(row.tenant, row.id), command)
    },
  }
}

function badRegistration(): Problem {
  const details = [{ path: 'response', message: 'does not answer a valid challenge of this server' }]
  return new Problem('invalid', undefined, { details })
}
