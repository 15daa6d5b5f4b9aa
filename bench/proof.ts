import { killCommand } from '#bench/proof/kill-command'

/** The proofs: programs that try to break a promise of the server, and count. Exit code 1 when they could. */
const proofs: Readonly<Record<string, (args: readonly string[]) => Promise<boolean>>> = {
  kill: killCommand,
}

const [name = '', ...args] = process.argv.slice(2)
const proof = Object.hasOwn(proofs, name) ? proofs[name] : undefined
if (!proof) {
  console.error(`Usage: npm run proof -- ${Object.keys(proofs).join('|')} [--help]`)
  process.exit(2)
}
try {
  process.exit((await proof(args)) ? 0 : 1)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(2)
}
