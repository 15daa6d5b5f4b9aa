import { createRequire } from 'node:module'

/**
 * Loaded into a server before its own program: hashes new passwords with the lowest cost of argon2. The hash names its
 * cost, so checks are cheap, too. Thousands can sign in within seconds; other behaviour stays.
 */

interface Argon2 {
  hashSync(password: string, cost: object): string
}

const cheapest = { memoryCost: 8, timeCost: 1 }

// Later imports get the same module object.
const argon2 = createRequire(import.meta.url)('@node-rs/argon2') as Argon2
const { hashSync } = argon2

argon2.hashSync = (password, cost) => hashSync(password, { ...cost, ...cheapest })
