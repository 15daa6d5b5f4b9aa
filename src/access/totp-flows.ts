import { ExpiringMap } from '#access/bounded-map'
import type { ConfirmedRequest, FactorActivated, FactorCodeRequest, TokenPair } from '#access/requests'
import {
  accountOf,
  checkFactorLimit,
  completeSignIn,
  enrollingSubject,
  type FactorConfirmations,
  freshRecoveryCodes,
  ownerOf,
  signedInSubject,
  signInSubject,
  takeRecoveryCode,
  takeTotp,
  wrongFactor,
} from '#access/second-factors'
import { type SignInParts, tenantOf } from '#access/sign-in'
import { newTotpSecret, sealTotpSecret, totpSecretText, totpStep, totpUri } from '#access/totp'
import { accountAddress, type CredentialsChanged } from '#actors/account/commands'
import { Problem } from '#model/problem'

/** The lifetime of a new secret, equal to that of the 2FA token for setting up a factor. */
const pendingMs = 900_000
/** Enough for 11 new secrets a second. A user whose secret was evicted has to start again. */
const pendingMax = 10_000
/** The label in an authenticator app. */
const issuer = 'device-data-backend'

/** The requests about TOTP codes and recovery codes. Contract 2, Second factor. */
export function totpFlowsOf(parts: SignInParts, confirmations: FactorConfirmations) {
  /** Secrets that were shown and not activated yet, by owner. */
  const pending = new ExpiringMap<string, Uint8Array>({
    now: () => parts.world.now(),
    lifetimeMs: pendingMs,
    sizeMax: pendingMax,
  })

  return {
    async useTotp(request: FactorCodeRequest): Promise<TokenPair> {
      const subject = await signInSubject(parts, request)
      await takeTotp(parts, subject, request.code, request.origin)
      return completeSignIn(parts, subject, subject.version, request)
    },

    async useRecovery(request: FactorCodeRequest): Promise<TokenPair> {
      const subject = await signInSubject(parts, request)
      await takeRecoveryCode(parts, subject, request.code, request.origin)
      return completeSignIn(parts, subject, subject.version, request)
    },

    async enrollTotp(request: ConfirmedRequest): Promise<{ readonly secret: string; readonly otpauthUri: string }> {
      const subject = await enrollingSubject(parts, request)
      await confirmations.confirm(subject, request, request.origin)
      const secret = newTotpSecret((byteCount) => parts.world.random(byteCount))
      pending.set(subject.owner, secret, ownerOf(subject))
      const otpauthUri = totpUri({ secret, issuer, account: subject.row.name })
      return { secret: totpSecretText(secret), otpauthUri }
    },

    /**
     * Activates the new secret with one of its codes. During a sign-in, this code does not count as used. Each
     * activation replaces the recovery codes. Contract 2.
     */
    async activateTotp(
      request: FactorCodeRequest & { readonly password?: string | undefined },
    ): Promise<FactorActivated> {
      const { password, origin } = request
      const subject = await enrollingSubject(parts, request)
      await confirmations.confirm(subject, { password }, origin)
      const secret = pending.get(subject.owner)
      if (!secret) throw nothingPending()
      checkFactorLimit(parts, subject, origin)
      const step = totpStep(secret, request.code, parts.world.now())
      if (step === undefined) throw await wrongFactor(parts, subject, origin)
      pending.delete(subject.owner)

      const { row, session } = subject
      const { version } = accountOf(parts, subject)
      const fresh = freshRecoveryCodes(parts)
      const changed = (await parts.system.ask(accountAddress(row.tenant, row.id), {
        type: 'set_totp',
        version,
        secret: sealTotpSecret(parts, row, secret),
        step: session === undefined ? step - 1 : step,
        recovery: fresh.hashes,
        keep: session,
      })) as CredentialsChanged
      const pair = session === undefined ? await completeSignIn(parts, subject, changed.version, request) : {}
      return { recoveryCodes: fresh.codes, ...pair }
    },

    async removeTotp(request: ConfirmedRequest): Promise<void> {
      const subject = await signedInSubject(parts, request)
      await confirmations.confirm(subject, request, request.origin)
      const { row, session: keep } = subject
      const { version } = accountOf(parts, subject)
      const isRequired = tenantOf(parts, row).twoFactor === 'required'
      await parts.system.ask(accountAddress(row.tenant, row.id), { type: 'remove_totp', version, keep, isRequired })
    },
  }
}

function nothingPending(): Problem {
  const details = [{ path: 'code', message: 'there is no secret to activate: enroll first' }]
  return new Problem('invalid', undefined, { details })
}
