import type { PasswordEngine } from '#access/passwords'

/**
 * An engine without cost or secrecy, for tests with passwords. It meets the contract of engines as far as tests can
 * see: each hash of a password is another text, and a hash of another engine is invalid.
 */
export function plainEngine(): PasswordEngine & { readonly calls: string[] } {
  const calls: string[] = []
  let salt = 0
  return {
    calls,
    async hash(password) {
      calls.push(`hash ${password}`)
      return `plain:${salt++}:${password}`
    },
    async verify(hash, password) {
      calls.push(`verify ${password}`)
      return hash.startsWith('plain:') && hash.slice(hash.indexOf(':', 6) + 1) === password
    },
    isCurrent: (hash) => !hash.startsWith('plain:old:'),
  }
}
