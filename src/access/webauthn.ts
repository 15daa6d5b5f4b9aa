import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { RelyingParty } from '#access/relying-party'

/** A key on somebody's authenticator, as it is kept. */
export interface WebauthnCredential {
  /** Base64url; the authenticator's own name for it. */
  readonly id: string
  /** COSE_Key. */
  readonly publicKey: Uint8Array
  /** How often it has signed; 0 for those that don't count. */
  readonly counter: number
  readonly transports: readonly string[]
}

/** What authenticators have, best first: EdDSA, ES256, RS256. RFC 9053, RFC 8812. */
const algorithms = [-8, -7, -257]
/** As long as its challenge is good. */
const timeoutMs = 300_000
/** WebAuthn §6.5.1 lets ids have 1 023 bytes; a key of RSA 4096 takes some 540. */
const idCharactersMax = 1_364
const publicKeyBytesMax = 2_048
const transportNames = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']

/**
 * Statements about an authenticator's maker are not asked for, so none but these come from a browser: nothing, or what
 * a key says about itself (WebAuthn §5.1.3). The library would check the others against roots of their makers, and
 * fetch revocation lists from addresses in certificates that a client sent.
 */
const attestationFormats = ['none', 'packed']

/** Loaded when first needed: certificates and their readers are half of it, and most servers never see a key. */
const load = () => import('@simplewebauthn/server')
const loadReaders = () => import('@simplewebauthn/server/helpers')

/**
 * WebAuthn as second factor: somebody has to be present, who he is the password has said (user verification is not asked
 * for). Verdicts only: challenges are made and taken elsewhere, credentials are kept elsewhere.
 */
export class Webauthn {
  readonly #relyingParty: () => RelyingParty

  constructor(relyingParty: () => RelyingParty) {
    this.#relyingParty = relyingParty
  }

  /** What `navigator.credentials.create` is given. `challenge`: Base64url. */
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
      timeout: timeoutMs,
      attestationType: 'none',
      excludeCredentials: of.present.map(describe),
      authenticatorSelection: { residentKey: 'discouraged', userVerification: 'discouraged' },
      supportedAlgorithmIDs: algorithms,
    })
  }

  /** The new credential; undefined when the answer is not a good one to this challenge on a page of ours. */
  async registered(response: unknown, challenge: string): Promise<WebauthnCredential | undefined> {
    const { id, origins } = this.#relyingParty()
    const { verifyRegistrationResponse } = await load()
    return ifGood(async () => {
      const claimed = response as RegistrationResponseJSON
      if (!attestationFormats.includes(await attestationFormatOf(claimed))) return undefined
      const { registrationInfo } = await verifyRegistrationResponse({
        response: claimed,
        expectedChallenge: challenge,
        expectedOrigin: [...origins],
        expectedRPID: id,
        requireUserVerification: false,
        supportedAlgorithmIDs: algorithms,
      })
      return registrationInfo && credentialOf(registrationInfo.credential)
    })
  }

  /** What `navigator.credentials.get` is given. */
  async authenticationOptions(of: {
    readonly challenge: string
    readonly credentials: readonly WebauthnCredential[]
  }): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const { generateAuthenticationOptions } = await load()
    return generateAuthenticationOptions({
      rpID: this.#relyingParty().id,
      challenge: bytesOf(of.challenge),
      allowCredentials: of.credentials.map(describe),
      timeout: timeoutMs,
      userVerification: 'discouraged',
    })
  }

  /**
   * Its new count; undefined when the answer is not this credential's to this challenge on a page of ours, or the count
   * did not grow (WebAuthn §6.1.1: somebody else has a copy of the key).
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
        expectedOrigin: [...origins],
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
 * The library throws for everything it does not like, and so does a hostile answer of a form it did not think of: both
 * mean no.
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

/** Given as a text it would be encoded once more. */
function bytesOf(challenge: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(challenge, 'base64url'))
}
