import { ExpiringMap } from '#access/bounded-map'
import { freshRecoveryCodes, takeRecoveryCode, takeTotp } from '#access/factor-codes'
import type { FactorConfirmations } from '#access/factor-confirmation'
import {
  accountOf,
  checkFactorLimit,
  enrollingSubject,
  type FactorSubject,
  ownerOf,
  signedInSubject,
  signInSubject,
  wrongFactor,
} from '#access/factor-subject'
import type { ConfirmedRequest, FactorActivated, FactorCodeRequest, TokenPair } from '#access/requests'
import { beginDpopSession, type SignInParts, tenantOf } from '#access/sign-in'
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
export class TotpFlows {
  readonly #parts: SignInParts
  readonly #confirmations: FactorConfirmations
  /** Secrets that were shown and not activated yet, by owner. */
  readonly #pending: ExpiringMap<string, Uint8Array>

  constructor(parts: SignInParts, confirmations: FactorConfirmations) {
    this.#parts = parts
    this.#confirmations = confirmations
    const now = () => parts.world.now()
    this.#pending = new ExpiringMap({ now, lifetimeMs: pendingMs, sizeMax: pendingMax })
  }

  async use(request: FactorCodeRequest): Promise<TokenPair> {
    const subject = await signInSubject(this.#parts, request)
    await takeTotp(this.#parts, subject, request.code, request.origin)
    return this.#begin(subject, subject.version, request)
  }

  async recover(request: FactorCodeRequest): Promise<TokenPair> {
    const subject = await signInSubject(this.#parts, request)
    await takeRecoveryCode(this.#parts, subject, request.code, request.origin)
    return this.#begin(subject, subject.version, request)
  }

  async enroll(request: ConfirmedRequest): Promise<{ readonly secret: string; readonly otpauthUri: string }> {
    const subject = await enrollingSubject(this.#parts, request)
    await this.#confirmations.confirm(subject, request, request.origin)
    const secret = newTotpSecret((byteCount) => this.#parts.world.random(byteCount))
    this.#pending.set(subject.owner, secret, ownerOf(subject))
    const otpauthUri = totpUri({ secret, issuer, account: subject.row.name })
    return { secret: totpSecretText(secret), otpauthUri }
  }

  /**
   * Activates the new secret with one of its codes. During a sign-in, this code does not count as used. Each activation
   * replaces the recovery codes. Contract 2.
   */
  async activate(request: FactorCodeRequest & { readonly password?: string | undefined }): Promise<FactorActivated> {
    const parts = this.#parts
    const { password, origin } = request
    const subject = await enrollingSubject(parts, request)
    await this.#confirmations.confirm(subject, { password }, origin)
    const secret = this.#pending.get(subject.owner)
    if (!secret) throw nothingPending()
    checkFactorLimit(parts, subject, origin)
    const step = totpStep(secret, request.code, parts.world.now())
    if (step === undefined) throw await wrongFactor(parts, subject, origin)
    this.#pending.delete(subject.owner)

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
    const pair = session === undefined ? await this.#begin(subject, changed.version, request) : {}
    return { recoveryCodes: fresh.codes, ...pair }
  }

  async remove(request: ConfirmedRequest): Promise<void> {
    const parts = this.#parts
    const subject = await signedInSubject(parts, request)
    await this.#confirmations.confirm(subject, request, request.origin)
    const { row, session: keep } = subject
    const { version } = accountOf(parts, subject)
    const isRequired = tenantOf(parts, row).twoFactor === 'required'
    await parts.system.ask(accountAddress(row.tenant, row.id), { type: 'remove_totp', version, keep, isRequired })
  }

  #begin({ row, jkt }: FactorSubject, version: number, { origin }: FactorCodeRequest): Promise<TokenPair> {
    return beginDpopSession(this.#parts, { tenant: row.tenant, user: row.id, version }, jkt, origin)
  }
}

function nothingPending(): Problem {
  const details = [{ path: 'code', message: 'there is no secret to activate: enroll first' }]
  return new Problem('invalid', undefined, { details })
}
