import { ExpiringMap } from '#access/expiring-map'
import { takeCode } from '#access/factor-codes'
import { accountOf, type FactorSubject, ownerOf } from '#access/factor-subject'
import { verifyPassword } from '#access/password-change'
import type { Confirmation, SignInPlace } from '#access/requests'
import type { SignInParts } from '#access/sign-in'
import { Problem } from '#model/problem'

/** For so long it is still believed to be him. */
const confirmedForMs = 300_000
/** 33 a second; a user whose confirmation was given up confirms again. */
const confirmationsMax = 10_000

/**
 * That it is still the signed-in person who sits there, before a second factor is turned on or off: by password or by a
 * factor he has. It holds for the same session for five minutes, so that what takes two requests is confirmed once.
 * Contract 2, Second factor.
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

  get size(): number {
    return this.#confirmed.size
  }

  /** Who signs in has just shown his password. @throws Problem `invalid` when nothing was shown, or what is wrong with it */
  async confirm(subject: FactorSubject, { password, code }: Confirmation, place: SignInPlace): Promise<void> {
    const { row, session, owner } = subject
    if (session === undefined) return
    if (password !== undefined) {
      await verifyPassword(this.#parts, row, password, place)
    } else if (code !== undefined) await takeCode(this.#parts, subject, code, place)
    else if (!this.#confirmed.get(owner)) throw notConfirmed()
    // It may have changed hands while the password was looked at.
    accountOf(this.#parts, subject)
    if (password !== undefined || code !== undefined) this.remember(subject)
  }

  remember(subject: FactorSubject): void {
    this.#confirmed.set(subject.owner, true, ownerOf(subject))
  }
}

/** Not 401: a client would renew its token and come again. */
function notConfirmed(): Problem {
  const details = [{ path: 'password', message: 'password or a present factor is needed' }]
  return new Problem('invalid', undefined, { details })
}
