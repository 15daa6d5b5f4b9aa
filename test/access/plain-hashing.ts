import type { PasswordEngine } from '#access/password-hashing'

/**
 * An engine that hides nothing and takes no time, for whoever tests what stands around passwords. It keeps the contract
 * of engines in everything that a test could notice: another text each time, and no text of another engine.
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
