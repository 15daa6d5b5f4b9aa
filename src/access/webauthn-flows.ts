import type { Challenges } from '#access/challenges'
import { freshRecoveryCodes, useFactor } from '#access/factor-codes'
import type { FactorConfirmations } from '#access/factor-confirmation'
import {
  accountOf,
  checkFactorLimit,
  enrollingSubject,
  type FactorSubject,
  factorSubject,
  ownerOf,
  signedInSubject,
  wrongFactor,
} from '#access/factor-subject'
import type { ConfirmedRequest, FactorActivated, FactorRequest, TokenPair } from '#access/requests'
import { beginDpopSession, type SignInParts, tenantOf } from '#access/sign-in'
import type { Webauthn } from '#access/webauthn'
import { accountAddress, type CredentialsChanged } from '#actors/account/commands'
import { credentialsMax } from '#actors/account/factors'
import { factorNames, type StoredCredential } from '#actors/account/state'
import { Problem } from '#model/problem'

/**
 * The requests about security keys and phones. A challenge is valid once, and only for the session or the 2FA token
 * that it was made for. Contract 2.
 */
export class WebauthnFlows {
  readonly #parts: SignInParts
  readonly #confirmations: FactorConfirmations
  readonly #webauthn: Webauthn
  readonly #challenges: Challenges

  constructor(
    parts: SignInParts,
    confirmations: FactorConfirmations,
    more: { readonly webauthn: Webauthn; readonly challenges: Challenges },
  ) {
    this.#parts = parts
    this.#confirmations = confirmations
    this.#webauthn = more.webauthn
    this.#challenges = more.challenges
  }

  async registrationOptions(request: ConfirmedRequest): Promise<object> {
    const subject = await enrollingSubject(this.#parts, request)
    await this.#confirmations.confirm(subject, request, request.origin)
    const { row, owner } = subject
    const present = accountOf(this.#parts, subject).factors.webauthn
    if (present.length >= credentialsMax) {
      throw new Problem('conflict', `a user has at most ${credentialsMax} credentials`)
    }
    const challenge = this.#challenges.issue(owner, 'register', ownerOf(subject))
    return this.#webauthn.registrationOptions({ challenge, user: row.id, name: row.name, present })
  }

  async register(
    request: ConfirmedRequest & { readonly name?: string | undefined; readonly response: object },
  ): Promise<FactorActivated & { readonly id: string }> {
    const parts = this.#parts
    const subject = await enrollingSubject(parts, request)
    const challenge = this.#challenges.take(subject.owner, 'register')
    await this.#confirmations.confirm(subject, request, request.origin)
    const registered =
      challenge === undefined ? undefined : await this.#webauthn.registered(request.response, challenge)
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
    const pair = keep === undefined ? await this.#begin(subject, changed.version, request) : {}
    return { id: registered.id, ...(isFirst && { recoveryCodes: fresh.codes }), ...pair }
  }

  async authenticationOptions(request: FactorRequest): Promise<object> {
    const subject = await factorSubject(this.#parts, request)
    const credentials = accountOf(this.#parts, subject).factors.webauthn
    if (credentials.length === 0) throw new Problem('not_found')
    checkFactorLimit(this.#parts, subject, request.origin)
    const challenge = this.#challenges.issue(subject.owner, 'authenticate', ownerOf(subject))
    return this.#webauthn.authenticationOptions({ challenge, credentials })
  }

  async authenticate(request: FactorRequest & { readonly response: object }): Promise<Partial<TokenPair>> {
    const parts = this.#parts
    const { response, origin } = request
    const subject = await factorSubject(parts, request)
    const { row, owner, version } = subject
    checkFactorLimit(parts, subject, origin)
    const challenge = this.#challenges.take(owner, 'authenticate')
    const id = (response as { readonly id?: unknown }).id
    const credential = accountOf(parts, subject).factors.webauthn.find((one) => one.id === id)
    const verdict =
      challenge !== undefined && credential
        ? await this.#webauthn.authenticated(response, challenge, credential)
        : undefined
    if (!verdict || !credential) throw await wrongFactor(parts, subject, origin)
    accountOf(parts, subject)
    const use = { type: 'use_webauthn', id: credential.id, counter: verdict.counter } as const
    await useFactor(parts, subject, origin, parts.system.ask(accountAddress(row.tenant, row.id), use))
    if (version !== undefined) return this.#begin(subject, version, request)
    this.#confirmations.remember(subject)
    return {}
  }

  async credentials(request: FactorRequest) {
    const subject = await signedInSubject(this.#parts, request)
    return accountOf(this.#parts, subject).factors.webauthn.map(({ id, name, createdAt, lastUsedAt, transports }) => ({
      id,
      name,
      createdAt,
      lastUsedAt: lastUsedAt ?? createdAt,
      transports,
    }))
  }

  async remove(request: ConfirmedRequest & { readonly id: string }): Promise<void> {
    const parts = this.#parts
    const subject = await signedInSubject(parts, request)
    await this.#confirmations.confirm(subject, request, request.origin)
    const { row, session: keep } = subject
    const { version } = accountOf(parts, subject)
    const isRequired = tenantOf(parts, row).twoFactor === 'required'
    const command = { type: 'remove_webauthn', version, id: request.id, keep, isRequired } as const
    await parts.system.ask(accountAddress(row.tenant, row.id), command)
  }

  #begin({ row, jkt }: FactorSubject, version: number, { origin }: FactorRequest): Promise<TokenPair> {
    return beginDpopSession(this.#parts, { tenant: row.tenant, user: row.id, version }, jkt, origin)
  }
}

function badRegistration(): Problem {
  const details = [{ path: 'response', message: 'does not answer a valid challenge of this server' }]
  return new Problem('invalid', undefined, { details })
}
