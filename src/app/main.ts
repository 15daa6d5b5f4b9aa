import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { adminCommand } from '#app/admin-command'
import { configExitCode, readConfig } from '#app/config'
import { helpText } from '#app/config-text'
import { createLog, type Log } from '#app/log'
import type { RunningServer } from '#app/running-server'

/** The entry point: environment, signals, and the last messages before an exit. */

/**
 * V8 samples the lifetime of objects per allocation site, and then allocates all objects of a long-lived site in the
 * old space. After the first burst of HELLOs it also does this for zod's temporary objects, 3 KB per HELLO, which die
 * within a millisecond. After 100 000 HELLOs the old space held 160 MB for 97 MB in use. With this flag it held 114 MB,
 * and the HELLOs took 8 s instead of 10 s.
 */
const engineFlags = '--no-allocation-site-pretenuring'

/**
 * V8 marks live objects on up to seven threads while the loop runs, and they compete with the loop for processors. So
 * one processor is left for the loop. On two processors, at 45 000 changes a second, p99 latency was 8.7 to 10.5 ms
 * with one such thread, and 15.7 to 26.1 ms with all of them.
 */
const markersMax = Math.min(Math.max(availableParallelism() - 1, 1), 7)

async function main(): Promise<void> {
  setFlagsFromString(engineFlags)
  setFlagsFromString(`--concurrent-marking-max-worker-num=${markersMax}`)
  const args = process.argv.slice(2)
  if (args.some((argument) => argument === '--help' || argument === '-h')) {
    console.log(helpText())
    return
  }
  const [argument] = args
  if (argument !== undefined) {
    console.error(
      `unknown argument ${argument}: settings come from the environment (PORT=8090 npm start) or .env; see --help`,
    )
    process.exitCode = configExitCode
    return
  }
  const reading = readConfig(process.env, existsSync('.env') ? readFileSync('.env', 'utf8') : '')
  if ('mistakes' in reading) {
    for (const mistake of reading.mistakes) console.error(mistake)
    process.exitCode = configExitCode
    return
  }
  const { config, warnings } = reading
  const log = createLog({ level: config.logLevel, isPretty: process.stdout.isTTY === true })
  for (const warning of warnings) log.warn({}, warning)
  if (!process.env.UWS_HTTP_MAX_HEADERS_SIZE) {
    log.warn(
      {},
      'UWS_HTTP_MAX_HEADERS_SIZE is not set: requests with more than 4 KiB of headers are refused; set it to 16384',
    )
  }
  // `--help` and configuration errors do not wait until the whole server is loaded.
  const { isPlainFailure, serve } = await import('#app/running-server')
  const { exitCodeOf } = await import('#app/mqtt')
  try {
    const starting = serve(config, log, { administratorGenerated: printAdministrator })
    stopOnSignal(starting, log)
    await starting
  } catch (error) {
    if (isPlainFailure(error)) log.fatal({}, error.message)
    else log.fatal({ err: error }, 'the server could not start')
    process.exitCode = exitCodeOf(error)
  }
}

/** Prints to standard error, because the log may be stored and sent elsewhere. Contract 2, First administrator. */
function printAdministrator({ name, password }: { readonly name: string; readonly password: string }): void {
  process.stderr.write(
    `The first administrator is ${name}, with this password, which is shown only now:\n` +
      `  ${password}\n` +
      `If it gets lost, stop the server and run: ${adminCommand} user invite ${name}\n`,
  )
}

/** A signal during the start stops the server once it has started. */
function stopOnSignal(starting: Promise<RunningServer>, log: Log): void {
  let isStopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // A second Ctrl-C exits at once.
      if (isStopping && signal === 'SIGINT') process.exit(130)
      if (isStopping) return
      isStopping = true
      starting.then(
        (running) => stop(running, log),
        () => undefined,
      )
    })
  }
}

async function stop(running: RunningServer, log: Log): Promise<void> {
  try {
    await running.stop()
    process.exit(0)
  } catch (error) {
    log.fatal({ err: error }, 'could not stop cleanly')
    process.exit(1)
  }
}

await main()
