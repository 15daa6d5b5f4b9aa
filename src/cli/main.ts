import { existsSync, readFileSync } from 'node:fs'
import { administer } from '#cli/command'
import { readSettings } from '#cli/settings'

/** How the server is administered from a terminal: the environment and the streams. */

const settings = readSettings(process.env, existsSync('.env') ? readFileSync('.env', 'utf8') : '')
process.exitCode = await administer(process.argv.slice(2), settings, {
  input: process.stdin,
  out: process.stdout,
  notes: process.stderr,
})
