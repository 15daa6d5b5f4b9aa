import { existsSync, readFileSync } from 'node:fs'
import { realWorld } from '#app/world'
import { doctorExitCodes, examine } from '#cli/doctor/doctor'
import { type Finding, lineOf } from '#cli/doctor/finding'
import { exitCodes } from '#cli/ending'
import { readSettings } from '#cli/settings'

/** What keeps this server from running well, and what to do about it: a line each; with `--json` all of it for programs. */

const about = `npm run doctor [-- --json]

Looks at the settings and at what the server needs of this machine: Node, limits, DATA_DIR and identity.key, disk, clock,
port or the server that runs there, mail, update server. Run it as the user that runs the server, with the same environment
or in the folder of the same .env. ADMIN_API_KEY, a key that may read health, tells more about a running server.
Exit code: 0 well, or with hints; 1 something is wrong; 2 not understood.
`

const limitsFile = '/proc/self/limits'

async function main(): Promise<void> {
  const args = process.argv.slice(2)
  if (args.some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write(about)
    return
  }
  const odd = args.find((argument) => argument !== '--json')
  if (odd !== undefined) {
    process.stderr.write(`${odd} is not understood (--help says more)\n`)
    process.exitCode = exitCodes.misused
    return
  }
  const { reading, apiKey } = readSettings(process.env, existsSync('.env') ? readFileSync('.env', 'utf8') : '')
  const limits = existsSync(limitsFile) ? readFileSync(limitsFile, 'utf8') : undefined
  const findings: Finding[] = []
  const isJson = args.includes('--json')
  const patient = { reading, nodeVersion: process.versions.node, limits, apiKey, world: realWorld }
  for await (const finding of examine(patient)) {
    findings.push(finding)
    if (!isJson) process.stdout.write(`${lineOf(finding)}\n`)
  }
  if (isJson) process.stdout.write(`${JSON.stringify(findings, null, 2)}\n`)
  const isIll = findings.some(({ verdict }) => verdict === 'wrong')
  process.exitCode = isIll ? doctorExitCodes.ill : doctorExitCodes.well
}

await main()
