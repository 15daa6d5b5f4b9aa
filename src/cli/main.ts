import { existsSync, readFileSync } from 'node:fs'
import { administer } from '#cli/command'
import { Leftovers } from '#cli/leftovers'
import { readSettings } from '#cli/settings'

/** How the server is administered from a terminal: the environment and the streams. */

const settings = readSettings(process.env, existsSync('.env') ? readFileSync('.env', 'utf8') : '')
const leftovers = new Leftovers()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    leftovers.removeNow()
    // Nobody listens any more: it ends by it, as whoever started this is to see.
    process.kill(process.pid, signal)
  })
}
process.exitCode = await administer(process.argv.slice(2), settings, {
  input: process.stdin,
  out: process.stdout,
  notes: process.stderr,
  leftovers,
})
