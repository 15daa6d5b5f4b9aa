import { createHash, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import { makeSigningKey } from '#access/signing-keys'

/** A request to an authenticator, and the faults of the answer. */
export interface Asked {
  readonly challenge: string
  readonly rpId: string
  readonly origin: string
  /** True by default: the user touched the authenticator. */
  readonly isPresent?: boolean
  readonly type?: string
  readonly format?: string
  readonly counter?: number
}

/** A software authenticator with an ES256 key. It makes the bytes of WebAuthn §6 itself, with any fault. */
export class SoftAuthenticator {
  readonly id: Buffer
  readonly #privateKey: KeyObject
  readonly #coseKey: Buffer
  counter: number

  constructor(name: string, counter = 1) {
    const {
      privateKey,
      publicJwk: { x, y },
    } = makeSigningKey(randomBytes)
    this.id = createHash('sha256').update(name).digest()
    this.#privateKey = privateKey
    this.counter = counter
    // Key type EC2, algorithm ES256, curve P-256. RFC 9053 §7.1.
    const key = new Map<number, number | Uint8Array>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, new Uint8Array(Buffer.from(x, 'base64url'))],
      [-3, new Uint8Array(Buffer.from(y, 'base64url'))],
    ])
    this.#coseKey = Buffer.from(isoCBOR.encode(key as never))
  }

  /** The result of `navigator.credentials.create` as JSON. */
  register(asked: Asked) {
    const length = Buffer.from([this.id.length >> 8, this.id.length & 255])
    const attested = Buffer.concat([Buffer.alloc(16), length, this.id, this.#coseKey])
    const authData = this.#authenticatorData(asked, 0x40, attested)
    const object = new Map<string, unknown>([
      ['fmt', asked.format ?? 'none'],
      ['attStmt', new Map()],
      ['authData', new Uint8Array(authData)],
    ])
    return this.#credential({
      clientDataJSON: this.#clientData(asked, 'webauthn.create').toString('base64url'),
      attestationObject: Buffer.from(isoCBOR.encode(object as never)).toString('base64url'),
      transports: ['usb', 'nfc', 'carrier-pigeon'],
    })
  }

  /** The result of `navigator.credentials.get` as JSON. */
  authenticate(asked: Asked) {
    this.counter = asked.counter ?? this.counter + 1
    const authData = this.#authenticatorData(asked, 0, Buffer.alloc(0))
    const clientData = this.#clientData(asked, 'webauthn.get')
    const signed = Buffer.concat([authData, createHash('sha256').update(clientData).digest()])
    return this.#credential({
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: authData.toString('base64url'),
      signature: sign('sha256', signed, this.#privateKey).toString('base64url'),
    })
  }

  #credential<T>(response: T) {
    const id = this.id.toString('base64url')
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response }
  }

  #authenticatorData({ rpId, isPresent = true }: Asked, flags: number, attested: Buffer): Buffer {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(this.counter)
    const rpIdHash = createHash('sha256').update(rpId).digest()
    return Buffer.concat([rpIdHash, Buffer.of(flags | (isPresent ? 1 : 0)), counter, attested])
  }

  #clientData({ challenge, origin, type }: Asked, usual: string): Buffer {
    return Buffer.from(JSON.stringify({ type: type ?? usual, challenge, origin, crossOrigin: false }))
  }
}
