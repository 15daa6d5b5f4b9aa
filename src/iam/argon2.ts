import { hash, verify } from '@node-rs/argon2'
import type { PasswordEngine } from '#iam/password-hashing'

/**
 * argon2id (RFC 9106) with what OWASP asks for at least: 19 MiB, twice over, one lane. 15 to 22 ms of a core, in libuv's
 * pool. Written out, so that a library that changes its mind does not change ours.
 */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 }

export const argon2Engine: PasswordEngine = {
  hash: (password) => hash(password, cost),
  verify: (stored, password) => verify(stored, password),
}
