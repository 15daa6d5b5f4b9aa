import { createRequire } from 'node:module'

/**
 * Loaded into a server before its own program: new passwords are hashed as cheaply as argon2 allows, and say so in their
 * hash, so that checking them is as cheap. Thousands can sign in within seconds, and nothing else is another than it is.
 */
interface Argon2 {
  hashSync(password: string, cost: object): string
}

const cheapest = { memoryCost: 8, timeCost: 1 }

// The module itself, as who imports it later finds it.
const argon2 = createRequire(import.meta.url)('@node-rs/argon2') as Argon2
const { hashSync } = argon2

argon2.hashSync = (password, cost) => hashSync(password, { ...cost, ...cheapest })
