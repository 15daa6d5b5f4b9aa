import type { PasswordEngine } from '#access/passwords'

/**
 * An engine without cost or secrecy, for tests around passwords. It meets the contract of engines as far as tests can
 * see: another text each time, and no hash of another engine is valid.
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
