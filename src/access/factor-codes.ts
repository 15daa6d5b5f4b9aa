import { Secret, TOTP } from 'otpauth'
import { ExpiringMap } from '#access/bounded-map'
import {
  accountOf,
  checkFactorLimit,
  completeSignIn,
  enrollingSubject,
  type FactorSubject,
  ownerOf,
  signedInSubject,
  signInSubject,
  useFactor,
  wrongFactor,
} from '#access/factor-subject'
import { open, type Random, seal } from '#access/file-keys'
import type { Confirmation, ConfirmedRequest, FactorActivated, FactorCodeRequest, SignInOrigin } from '#access/requests'
import { hashOf } from '#access/secret-text'
import { type SignInParts, tenantOf, verifyPassword } from '#access/sign-in'
import { type AccountState, accountAddress, type CredentialsChanged } from '#actors/account/state'
import type { UserRow } from '#actors/directory/state'
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

  const signInBy = (take: typeof takeCode) => async (request: FactorCodeRequest) => {
    const subject = await signInSubject(parts, request)
    await take(parts, subject, request.code, request.origin)
    return completeSignIn(parts, subject, subject.version, request)
  }

  return {
    useTotp: signInBy(takeTotp),
    useRecovery: signInBy(takeRecoveryCode),

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

    removeTotp: (request: ConfirmedRequest) => confirmations.removeFactor(request, { type: 'remove_totp' }),
  }
}

function nothingPending(): Problem {
  const details = [{ path: 'code', message: 'there is no secret to activate: enroll first' }]
  return new Problem('invalid', undefined, { details })
}

/** A valid code is used up. An invalid code is counted, for any reason. @throws Problem `unauthorized`, `too_many_requests` */
async function takeTotp(parts: SignInParts, subject: FactorSubject, code: string, origin: SignInOrigin): Promise<void> {
  checkFactorLimit(parts, subject, origin)
  const secret = openTotpSecret(parts, subject.row, accountOf(parts, subject))
  const step = secret && totpStep(secret, code, parts.world.now())
  if (step === undefined) throw await wrongFactor(parts, subject, origin)
  await useFactor(parts, subject, origin, { type: 'use_totp', step })
}

async function takeRecoveryCode(
  parts: SignInParts,
  subject: FactorSubject,
  code: string,
  origin: SignInOrigin,
): Promise<void> {
  checkFactorLimit(parts, subject, origin)
  await useFactor(parts, subject, origin, { type: 'use_recovery', hash: hashOf(recoveryCodeOf(code)) })
}

/** Six digits are a TOTP code; any other text is a recovery code. */
function takeCode(parts: SignInParts, subject: FactorSubject, code: string, origin: SignInOrigin): Promise<void> {
  return /^[0-9]{6}$/.test(code)
    ? takeTotp(parts, subject, code, origin)
    : takeRecoveryCode(parts, subject, code, origin)
}

/** Recovery codes for the user, and their hashes for the store. Each code replaces a lost factor once. */
export function freshRecoveryCodes({ world }: SignInParts): {
  readonly codes: readonly string[]
  readonly hashes: readonly Uint8Array[]
} {
  const codes = newRecoveryCodes((byteCount) => world.random(byteCount))
  return { codes, hashes: codes.map(hashOf) }
}

/** 80 bits in Base32. */
const recoveryBytes = 10
const recoveryCodeCount = 10

/** Ten codes, each valid once: `ABCD-EFGH-IJKL-MNOP`. */
export function newRecoveryCodes(random: Random): string[] {
  return Array.from({ length: recoveryCodeCount }, () => groupsOf(secretOf(random(recoveryBytes)).base32).join('-'))
}

/** A longer text is no recovery code, and is not hashed. */
const recoveryCharactersMax = 256

/** A typed recovery code in canonical form: case, spaces and hyphens do not count. */
export function recoveryCodeOf(typed: string): string {
  if (typed.length > recoveryCharactersMax) return ''
  return groupsOf(typed.replace(/[\s-]/g, '').toUpperCase()).join('-')
}

function groupsOf(text: string): string[] {
  return text.match(/.{1,4}/gs) ?? []
}

const confirmedForMs = 300_000
/** Enough for 33 new confirmations a second. A user whose confirmation was evicted has to confirm again. */
const confirmationsMax = 10_000

/**
 * Before a second factor is turned on or off, the signed-in person has to confirm with the password or an existing
 * factor. A confirmation is valid for the same session for five minutes, so that an operation of two requests is
 * confirmed once. Contract 2, Second factor.
 */
export class FactorConfirmations {
  readonly #parts: SignInParts
  readonly #confirmed: ExpiringMap<string, true>

  constructor(parts: SignInParts) {
    this.#parts = parts
    this.#confirmed = new ExpiringMap({
      now: () => parts.world.now(),
      lifetimeMs: confirmedForMs,
      sizeMax: confirmationsMax,
    })
  }

  /**
   * Accepts a password, a code, or an earlier confirmation. Does nothing during a sign-in, which has just verified the
   * password.
   * @throws Problem `invalid` without a confirmation; the refusal of a wrong password or code
   */
  async confirm(subject: FactorSubject, { password, code }: Confirmation, origin: SignInOrigin): Promise<void> {
    const { row, session, owner } = subject
    if (session === undefined) return
    if (password !== undefined) {
      await verifyPassword(this.#parts, row, password, origin)
    } else if (code !== undefined) await takeCode(this.#parts, subject, code, origin)
    else if (!this.#confirmed.get(owner)) throw notConfirmed()
    // The account may have changed while the password was verified.
    accountOf(this.#parts, subject)
    if (password !== undefined || code !== undefined) this.remember(subject)
  }

  /** Turns off a factor of a signed-in user, after a confirmation. */
  async removeFactor(
    request: ConfirmedRequest,
    factor: { readonly type: 'remove_totp' } | { readonly type: 'remove_webauthn'; readonly id: string },
  ): Promise<void> {
    const parts = this.#parts
    const subject = await signedInSubject(parts, request)
    await this.confirm(subject, request, request.origin)
    const { row, session: keep } = subject
    const { version } = accountOf(parts, subject)
    const isRequired = tenantOf(parts, row).twoFactor === 'required'
    await parts.system.ask(accountAddress(row.tenant, row.id), { ...factor, version, keep, isRequired })
  }

  remember(subject: FactorSubject): void {
    this.#confirmed.set(subject.owner, true, ownerOf(subject))
  }
}

/** Not 401, after which a client would renew its token and retry. */
function notConfirmed(): Problem {
  const details = [{ path: 'password', message: 'password or a present factor is needed' }]
  return new Problem('invalid', undefined, { details })
}

/**
 * Time-based one-time passwords: SHA-1, six digits, 30 s, the defaults of every authenticator app. RFC 6238.
 *
 * A code is valid in its own step and the adjacent ones (RFC 6238 §5.2: clocks differ). The account ensures that a code
 * is used once by storing the last used step; this is why `totpStep` returns the step.
 */

export const totpStepMs = 30_000
const digits = 6
const stepsBeside = 1
/** 160 bits, as long as the hash. RFC 4226 §4. */
const secretBytes = 20

export function newTotpSecret(random: Random): Uint8Array {
  return random(secretBytes)
}

/** The form in which people type the secret into an app: Base32 (RFC 4648 §6). */
export function totpSecretText(secret: Uint8Array): string {
  return secretOf(secret).base32
}

/** The content of the QR code: `otpauth://totp/…`. `account`: the user's name. */
export function totpUri(of: {
  readonly secret: Uint8Array
  readonly issuer: string
  readonly account: string
}): string {
  return totpOf(of.secret, of.issuer, of.account).toString()
}

/** The step of this code; undefined if the code belongs to none of the valid steps. Compares in constant time. */
export function totpStep(secret: Uint8Array, code: string, nowMs: number): number | undefined {
  if (!/^[0-9]{6}$/.test(code)) return undefined
  const delta = totpOf(secret).validate({ token: code, timestamp: nowMs, window: stepsBeside })
  return delta === null ? undefined : Math.floor(nowMs / totpStepMs) + delta
}

function totpOf(secret: Uint8Array, issuer = '', label = ''): TOTP {
  const period = totpStepMs / 1000
  return new TOTP({ secret: secretOf(secret), issuer, label, algorithm: 'SHA1', digits, period })
}

function secretOf(secret: Uint8Array): Secret {
  // A copy, because the library uses the whole underlying buffer, which may be larger.
  return new Secret({ buffer: new Uint8Array(secret).buffer })
}

/** Seals a TOTP secret of one user for the store. Inverse of `openTotpSecret`. */
function sealTotpSecret({ world, fileKeys }: SignInParts, row: UserRow, secret: Uint8Array): Uint8Array {
  return seal(fileKeys().seal, secret, contextOf(row), (byteCount) => world.random(byteCount))
}

/** The TOTP secret of a user. Undefined: the user has none. Inverse of `sealTotpSecret`. */
function openTotpSecret({ fileKeys }: SignInParts, row: UserRow, { factors }: AccountState): Uint8Array | undefined {
  if (!factors.totp) return undefined
  const secret = open(fileKeys().seal, factors.totp.secret, contextOf(row))
  if (!secret) throw new Error(`the TOTP secret of user ${row.id} is damaged`)
  return secret
}

function contextOf({ tenant, id }: UserRow): string {
  return `totp/${tenant}/${id}`
}
