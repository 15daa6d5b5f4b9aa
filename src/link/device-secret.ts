import { createHash } from 'node:crypto'

/** 256 bits: nothing that could be tried out, so that one hash of it is as good as many. Contract 7. */
const secretBytes = 32

/** What a device says to be known by, and what is kept of it. */
export interface DeviceSecret {
  readonly text: string
  /** SHA-256 of the text. */
  readonly hash: Uint8Array
}

export function madeSecret(random: (byteCount: number) => Uint8Array): DeviceSecret {
  const text = Buffer.from(random(secretBytes)).toString('base64url')
  return { text, hash: createHash('sha256').update(text).digest() }
}
