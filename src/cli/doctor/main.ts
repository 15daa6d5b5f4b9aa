import { existsSync, readFileSync } from 'node:fs'
import { realWorld } from '#app/world'
import { doctorExitCodes, examine } from '#cli/doctor/doctor'
import { type Finding, lineOf } from '#cli/doctor/finding'
import { exitCodes } from '#cli/exit-codes'
import { readSettings } from '#cli/settings'

const about = `npm run doctor [-- --json]

Checks the settings and what the server needs on this machine: Node, limits, DATA_DIR and identity.key, disk, clock, port or
the running server, NATS, mail, update server. Run it as the user that runs the server, with the same environment or in the folder
of the same .env. With an API key that may read health in ADMIN_API_KEY, it also checks the health of a running server.
Exit code: 0 no problems (there may be hints); 1 problems; 2 wrong usage.
`

const limitsFile = '/proc/self/limits'

/** Prints the findings about this server, one a line; with `--json`, as JSON for programs. */
async function main(): Promise<void> {
  const args = process.argv.slice(2)
  if (args.some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write(about)
    return
  }
  const unknownOption = args.find((argument) => argument !== '--json')
  if (unknownOption !== undefined) {
    process.stderr.write(`${unknownOption} is not understood (see --help)\n`)
    process.exitCode = exitCodes.misused
    return
  }
  const { reading, apiKey } = readSettings(process.env, existsSync('.env') ? readFileSync('.env', 'utf8') : '')
  const limits = existsSync(limitsFile) ? readFileSync(limitsFile, 'utf8') : undefined
  const findings: Finding[] = []
  const isJson = args.includes('--json')
  const input = { reading, nodeVersion: process.versions.node, limits, apiKey, world: realWorld }
  for await (const finding of examine(input)) {
    findings.push(finding)
    if (!isJson) process.stdout.write(`${lineOf(finding)}\n`)
  }
  if (isJson) process.stdout.write(`${JSON.stringify(findings, null, 2)}\n`)
  const hasProblems = findings.some(({ verdict }) => verdict === 'wrong')
  process.exitCode = hasProblems ? doctorExitCodes.problems : doctorExitCodes.ok
}

await main()
