/** The alphabet of ids that the server makes: no two characters look alike. §2.1. */
const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** The largest multiple of 58 that fits a byte: larger bytes would make the first letters more likely. */
const fairBytesMax = 256 - (256 % base58.length)

/**
 * A random text of Base58 characters, all equally likely: an id with ten of them (58 bit, contract 1.7), a secret with
 * more.
 */
export function randomId(random: (byteCount: number) => Uint8Array, characters = 10): string {
  let id = ''
  while (id.length < characters) {
    for (const byte of random(characters - id.length)) if (byte < fairBytesMax) id += base58[byte % base58.length]
  }
  return id
}
