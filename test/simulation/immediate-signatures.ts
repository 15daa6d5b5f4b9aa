import { KeyObject, sign, verify, type webcrypto } from 'node:crypto'

/** ES256 for jose without the thread pool: threads finish in any order, and a seed must always give the same run. */
const of = (key: webcrypto.CryptoKey) => ({ key: KeyObject.from(key), dsaEncoding: 'ieee-p1363' }) as const

Object.assign(crypto.subtle, {
  sign: async (_: unknown, key: webcrypto.CryptoKey, data: Uint8Array) => sign('sha256', data, of(key)),
  verify: async (_: unknown, key: webcrypto.CryptoKey, signature: Uint8Array, data: Uint8Array) =>
    verify('sha256', data, of(key), signature),
})
