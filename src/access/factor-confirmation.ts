import { ExpiringMap } from '#access/bounded-map'
import { takeCode } from '#access/factor-codes'
import { accountOf, type FactorSubject, ownerOf } from '#access/factor-subject'
import { verifyPassword } from '#access/password-change'
import type { Confirmation, SignInOrigin } from '#access/requests'
import type { SignInParts } from '#access/sign-in'
import { Problem } from '#model/problem'

/** How long a confirmation is valid. */
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

  remember(subject: FactorSubject): void {
    this.#confirmed.set(subject.owner, true, ownerOf(subject))
  }
}

/** Not 401, after which a client would renew its token and retry. */
function notConfirmed(): Problem {
  const details = [{ path: 'password', message: 'password or a present factor is needed' }]
  return new Problem('invalid', undefined, { details })
}
