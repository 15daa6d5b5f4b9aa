import { createECDH, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { type FileKeys, open, type Random, seal } from '#access/file-keys'
import { type PublicJwk, thumbprintOf } from '#access/public-jwk'
import { base64urlOf } from '#access/secret-text'
import { type StoredSigningKey, signingKeysAddress } from '#actors/signing-keys/state'
import type { Entry } from '#model/entry'
import type { System } from '#runtime/system'

/** The key file does not belong to the store. The message is for the operator. */
export class WrongFileKey extends Error {
  constructor() {
    super(
      'identity.key does not belong to this database: restore the identity.key from the ' +
        'backup that the database came from',
    )
    this.name = 'WrongFileKey'
  }
}

export interface KeyRingParts {
  readonly now: () => number
  readonly random: Random
  readonly system: System<Entry>
  readonly fileKeys: () => FileKeys
  /** The longest lifetime of a token. An old key stays valid for this time. */
  readonly longestLifeMs: number
  readonly failed: (error: unknown, where: string) => void
}

/**
 * The keys that sign tokens. One key signs; earlier keys stay valid until the last token they signed has expired, so
 * that a rotation signs no user out. Each key is stored sealed under the key file. Contract 2, Tokens.
 */
export class KeyRing {
  readonly #parts: KeyRingParts
  #stored: readonly StoredSigningKey[] = []
  #keys: SigningKeys = noKeys

  constructor(parts: KeyRingParts) {
    this.#parts = parts
  }

  get keys(): SigningKeys {
    return this.#keys
  }

  /** Loads the keys; makes one if there is none. @throws WrongFileKey */
  async open(): Promise<void> {
    this.reload()
    if (this.#stored.length === 0) await this.rotate()
  }

  /** @throws WrongFileKey */
  reload(): void {
    this.#use([...this.#parts.system.wake(signingKeysAddress).keys.values()])
  }

  /** A key was stored, or removed (`stored` is undefined). @throws WrongFileKey */
  updateKey(kid: string, stored: StoredSigningKey | undefined): void {
    const others = this.#stored.filter((key) => key.kid !== kid)
    this.#use(stored ? [...others, stored] : others)
  }

  #use(stored: readonly StoredSigningKey[]): void {
    const opened = new Map(stored.map((key) => [key.kid, this.#keys.find(key.kid) ?? this.#open(key)]))
    const signing = stored.find(({ retiresAt }) => retiresAt === null)
    const current = signing && opened.get(signing.kid)
    this.#stored = stored
    this.#keys = current ? { current, find: (kid) => opened.get(kid) } : noKeys
  }

  /** Rotates a key that has reached its largest age. After a failure, `signingKeyIsOld` is called again in an hour. */
  rotateOld(): void {
    this.rotate().catch((error) => this.#parts.failed(error, 'rotating an old signing key'))
  }

  /** @throws Problem `conflict` if the last rotation was less than a minute ago */
  async rotate() {
    const { now, random, system, longestLifeMs } = this.#parts
    const { seal, fingerprint } = this.#parts.fileKeys()
    const created = makeSigningKey(random)
    const key = { kid: created.kid, sealed: sealSigningKey(seal, created, random), fingerprint }
    const added = await system.ask(signingKeysAddress, { type: 'add', key, retireOthersAt: now() + longestLifeMs })
    return shownKey(added as StoredSigningKey)
  }

  list() {
    return [...this.#stored].sort((a, b) => b.createdAt - a.createdAt).map(shownKey)
  }

  jwks(): { readonly keys: readonly object[] } {
    const now = this.#parts.now()
    const good = this.#stored.filter(({ retiresAt }) => retiresAt === null || retiresAt > now)
    return { keys: good.flatMap(({ kid }) => this.#keys.find(kid) ?? []).map(publishedKeyOf) }
  }

  #open({ kid, sealed, fingerprint }: StoredSigningKey): SigningKey {
    const fileKeys = this.#parts.fileKeys()
    if (!Buffer.from(fingerprint).equals(fileKeys.fingerprint)) throw new WrongFileKey()
    const opened = openSigningKey(fileKeys.seal, kid, sealed)
    if (!opened) throw new Error(`signing key ${kid} is damaged`)
    return opened
  }
}

const noKeys: SigningKeys = {
  get current(): SigningKey {
    throw new Error('there is no signing key yet')
  },
  find: () => undefined,
}

/** `retiresAt` is absent for the key that signs. */
function shownKey({ kid, createdAt, retiresAt }: StoredSigningKey) {
  return { kid, createdAt, ...(retiresAt !== null && { retiresAt }) }
}

/** A present or earlier key of the server's tokens. */
export interface SigningKey {
  /** The thumbprint of the key, so equal keys have equal names, even after a restart. RFC 7638. */
  readonly kid: string
  readonly publicJwk: PublicJwk
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

/** All keys of the server. One of them signs. Each is valid until it retires. */
export interface SigningKeys {
  readonly current: SigningKey
  find(kid: string): SigningKey | undefined
}

const curve = 'prime256v1'
const privateBytes = 32
/** One number in 2³² is above the order of the curve; several in a row mean that `random` is not random. */
const attemptsMax = 8

/** Makes a key from 32 random bytes, so that the same seed makes the same key. */
export function makeSigningKey(random: Random): SigningKey {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const key = signingKeyOf(random(privateBytes))
    if (key) return key
  }
  throw new Error('no signing key can be made: the random source is broken')
}

/** The private half, sealed for storage. Inverse of `openSigningKey`. */
export function sealSigningKey(sealKey: Uint8Array, key: SigningKey, random: Random): Uint8Array {
  const { d = '' } = key.privateKey.export({ format: 'jwk' })
  return seal(sealKey, Buffer.from(d, 'base64url'), contextOf(key.kid), random)
}

/** Undefined if the key was sealed under another key file, or has another `kid`. Inverse of `sealSigningKey`. */
export function openSigningKey(sealKey: Uint8Array, kid: string, sealed: Uint8Array): SigningKey | undefined {
  const bytes = open(sealKey, sealed, contextOf(kid))
  const key = bytes && signingKeyOf(bytes)
  return key?.kid === kid ? key : undefined
}

/** A key as published at the well-known URL. RFC 7517 §4. */
export function publishedKeyOf({ kid, publicJwk }: SigningKey) {
  return { ...publicJwk, kid, alg: 'ES256', use: 'sig' }
}

/** Undefined if the number is zero or above the curve's order. */
function signingKeyOf(bytes: Uint8Array): SigningKey | undefined {
  const ecdh = createECDH(curve)
  try {
    ecdh.setPrivateKey(bytes)
  } catch {
    return undefined
  }
  // Uncompressed: 0x04, x, y. SEC 1 §2.3.3.
  const point = ecdh.getPublicKey()
  const half = (point.length - 1) / 2
  const coordinates = { x: base64urlOf(point.subarray(1, 1 + half)), y: base64urlOf(point.subarray(1 + half)) }
  const publicJwk: PublicJwk = { kty: 'EC', crv: 'P-256', ...coordinates }
  const d = base64urlOf(Buffer.concat([Buffer.alloc(privateBytes - bytes.length), bytes]))
  const privateKey = createPrivateKey({ key: { ...publicJwk, d }, format: 'jwk' })
  return { kid: thumbprintOf(publicJwk), publicJwk, publicKey: createPublicKey(privateKey), privateKey }
}

function contextOf(kid: string): string {
  return `signing-key/${kid}`
}
