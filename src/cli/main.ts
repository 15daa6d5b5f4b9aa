import { existsSync, readFileSync } from 'node:fs'
import { runCommandLine } from '#cli/command'
import { readSettings } from '#cli/settings'
import { TemporaryFiles } from '#cli/temporary-files'

/** Runs the command line, with settings from the environment and from `.env` in the working directory. */

const settings = readSettings(process.env, existsSync('.env') ? readFileSync('.env', 'utf8') : '')
const temporaryFiles = new TemporaryFiles()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    temporaryFiles.removeNow()
    // Without listeners, the signal ends the process, so that the parent process sees the signal.
    process.kill(process.pid, signal)
  })
}
process.exitCode = await runCommandLine(process.argv.slice(2), settings, {
  input: process.stdin,
  out: process.stdout,
  notes: process.stderr,
  temporaryFiles,
})
