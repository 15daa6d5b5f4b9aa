import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { ExpiringMap } from '#access/bounded-map'
import { type FactorConfirmations, freshRecoveryCodes } from '#access/factor-codes'
import {
  accountOf,
  checkFactorLimit,
  completeSignIn,
  enrollingSubject,
  type FactorSubject,
  factorSubject,
  ownerOf,
  signedInSubject,
  useFactor,
  wrongFactor,
} from '#access/factor-subject'
import type { IdentitySettings } from '#access/options'
import type { ConfirmedRequest, FactorActivated, FactorRequest } from '#access/requests'
import { base64urlOf } from '#access/secret-text'
import type { SignInParts } from '#access/sign-in'
import { credentialsMax } from '#actors/account/factors'
import { accountAddress, type CredentialsChanged, factorNames, type StoredCredential } from '#actors/account/state'
import type { TokenPair } from '#api/sign-in'
import { Problem } from '#model/problem'

/** The part of a credential that comes from its authenticator. */
export type WebauthnCredential = Pick<StoredCredential, 'id' | 'publicKey' | 'counter' | 'transports'>

/** Algorithms of authenticators, best first: EdDSA, ES256, RS256. RFC 9053, RFC 8812. */
const algorithms = [-8, -7, -257]
/** Contract 2, Second factor. */
const challengeLifetimeMs = 300_000
/** WebAuthn §6.5.1 allows ids of 1 023 bytes, which are 1 364 characters. A key of RSA 4096 takes some 540 bytes. */
const idCharactersMax = 1_364
const publicKeyBytesMax = 2_048
const transportNames = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']

/**
 * No attestation is requested, so a browser sends only these formats: none, or self-attestation (WebAuthn §5.1.3). With
 * other formats, the library would check root certificates of vendors, and fetch revocation lists from URLs in
 * certificates that a client sent.
 */
const attestationFormats = ['none', 'packed']

/** Loaded on first use, because most servers never see a security key, and half of the library reads certificates. */
const load = () => import('@simplewebauthn/server')
const loadReaders = () => import('@simplewebauthn/server/helpers')

/**
 * WebAuthn as second factor. The authenticator only shows that a person is present: user verification is not requested,
 * because the password identifies the person. This class makes options and checks answers; the caller stores challenges
 * and credentials.
 */
export class Webauthn {
  readonly #relyingParty: () => RelyingParty

  constructor(relyingParty: () => RelyingParty) {
    this.#relyingParty = relyingParty
  }

  /** The argument of `navigator.credentials.create`. `challenge`: Base64url. */
  async registrationOptions(of: {
    readonly challenge: string
    readonly user: string
    readonly name: string
    readonly present: readonly WebauthnCredential[]
  }): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const { id, name } = this.#relyingParty()
    const { generateRegistrationOptions } = await load()
    return generateRegistrationOptions({
      rpName: name,
      rpID: id,
      userID: new Uint8Array(Buffer.from(of.user)),
      userName: of.name,
      userDisplayName: of.name,
      challenge: bytesOf(of.challenge),
      timeout: challengeLifetimeMs,
      attestationType: 'none',
      excludeCredentials: of.present.map(describe),
      authenticatorSelection: { residentKey: 'discouraged', userVerification: 'discouraged' },
      supportedAlgorithmIDs: algorithms,
    })
  }

  /** The new credential; undefined if the answer is not valid for this challenge on an allowed page. */
  async registered(response: unknown, challenge: string): Promise<WebauthnCredential | undefined> {
    const { id, origins } = this.#relyingParty()
    const { verifyRegistrationResponse } = await load()
    return ifGood(async () => {
      const claimed = response as RegistrationResponseJSON
      if (!attestationFormats.includes(await attestationFormatOf(claimed))) return undefined
      const { registrationInfo } = await verifyRegistrationResponse({
        response: claimed,
        expectedChallenge: challenge,
        expectedOrigin: origins,
        expectedRPID: id,
        requireUserVerification: false,
        supportedAlgorithmIDs: algorithms,
      })
      return registrationInfo && credentialOf(registrationInfo.credential)
    })
  }

  /** The argument of `navigator.credentials.get`. */
  async authenticationOptions(of: {
    readonly challenge: string
    readonly credentials: readonly WebauthnCredential[]
  }): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const { generateAuthenticationOptions } = await load()
    return generateAuthenticationOptions({
      rpID: this.#relyingParty().id,
      challenge: bytesOf(of.challenge),
      allowCredentials: of.credentials.map(describe),
      timeout: challengeLifetimeMs,
      userVerification: 'discouraged',
    })
  }

  /**
   * The new signature count. Undefined if the answer does not match this credential and challenge on an allowed page,
   * or if a credential that counts sent no larger count (WebAuthn §6.1.1: the key may have been copied).
   */
  async authenticated(
    response: unknown,
    challenge: string,
    credential: WebauthnCredential,
  ): Promise<{ readonly counter: number } | undefined> {
    const { id, origins } = this.#relyingParty()
    const { verifyAuthenticationResponse } = await load()
    return ifGood(async () => {
      const claimed = response as AuthenticationResponseJSON
      if (claimed.id !== credential.id) return undefined
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: claimed,
        expectedChallenge: challenge,
        expectedOrigin: origins,
        expectedRPID: id,
        credential: {
          ...describe(credential),
          publicKey: new Uint8Array(credential.publicKey),
          counter: credential.counter,
        },
        requireUserVerification: false,
      })
      return verified ? { counter: authenticationInfo.newCounter } : undefined
    })
  }
}

/**
 * Undefined if `verdict` throws. The library throws for every invalid answer, and malicious answers may cause other
 * errors.
 */
async function ifGood<T>(verdict: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await verdict()
  } catch {
    return undefined
  }
}

async function attestationFormatOf(response: RegistrationResponseJSON): Promise<string> {
  const { decodeAttestationObject, isoBase64URL } = await loadReaders()
  return decodeAttestationObject(isoBase64URL.toBuffer(response.response.attestationObject)).get('fmt')
}

function credentialOf(of: {
  id: string
  publicKey: Uint8Array
  counter: number
  transports?: readonly string[]
}): WebauthnCredential | undefined {
  if (of.id.length > idCharactersMax || of.publicKey.length > publicKeyBytesMax) return undefined
  const transports = transportNames.filter((name) => of.transports?.includes(name))
  return { id: of.id, publicKey: new Uint8Array(of.publicKey), counter: of.counter, transports }
}

function describe({ id, transports }: WebauthnCredential): { id: string; transports: string[] } {
  return { id, transports: [...transports] }
}

/** The bytes of a challenge. A text would be encoded once more by the library. */
function bytesOf(challenge: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(challenge, 'base64url'))
}

type RelyingParty = ReturnType<typeof relyingPartyOf>

const name = 'Device Data Backend'

/**
 * The relying party of authenticators, and the pages that may use it. Made from the configuration only, never from a
 * request, because a client could name any host. `port`: the port of the server. WebAuthn §5.1.3, contract 2.
 */
export function relyingPartyOf({
  publicUrls,
  corsOrigins,
  port,
}: Pick<IdentitySettings, 'publicUrls' | 'corsOrigins'> & { readonly port: number }) {
  const [first] = publicUrls
  const own = first === undefined ? [`http://localhost:${port}`] : publicUrls.map((url) => new URL(url).origin)
  // Without a port. A security key that was registered for this name does not work under another name.
  const id = first === undefined ? 'localhost' : new URL(first).hostname
  return { id, name, origins: [...new Set([...own, ...corsOrigins])] }
}

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
      const { owner, version } = subject
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
      const { counter } = verdict
      await useFactor(parts, subject, origin, { type: 'use_webauthn', id: credential.id, counter })
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

    removeWebauthn: (request: ConfirmedRequest & { readonly id: string }) =>
      confirmations.removeFactor(request, { type: 'remove_webauthn', id: request.id }),
  }
}

function badRegistration(): Problem {
  const details = [{ path: 'response', message: 'does not answer a valid challenge of this server' }]
  return new Problem('invalid', undefined, { details })
}
