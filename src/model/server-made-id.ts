/** The alphabet of ids that the server makes: nothing that looks like something else. §2.1. */
const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** The largest multiple of 58 that fits a byte: bytes from here on would make the first letters likelier. */
const fairBytesMax = 256 - (256 % base58.length)

/**
 * A random text of Base58 characters: an id where ten of them are asked for (58 bit, contract 1.7), a secret where
 * there are more. All of them equally likely.
 */
export function madeId(random: (byteCount: number) => Uint8Array, characters = 10): string {
  let id = ''
  while (id.length < characters) {
    for (const byte of random(characters - id.length)) if (byte < fairBytesMax) id += base58[byte % base58.length]
  }
  return id
}
