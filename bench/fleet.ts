import type { FleetCommand } from '#bench/fleet/command'
import { fleetHelp, readFleetCommand } from '#bench/fleet/command'
import { Fleet } from '#bench/fleet/fleet'
import { putSchemas } from '#bench/fleet/schemas'
import { lineOf, secondsOf, totalsOf } from '#bench/fleet/second'

/** The fleet as a command: `npm run fleet -- --help`. Exit code 1 when the server did what no correct server does. */
async function run(command: FleetCommand): Promise<void> {
  const fleet = new Fleet(command.fleet)
  const print = command.isJson ? (what: unknown) => console.log(JSON.stringify(what)) : undefined
  if (command.hasSchemas) await putSchemas(command.fleet.url.replace(/^ws/, 'http'), fleet.kinds)
  fleet.start()

  const takeSecond = secondsOf(fleet)
  let startedAt = performance.now()
  let isWarm = command.warmup === 0
  const everySecond = setInterval(() => {
    if (!isWarm && performance.now() - startedAt >= command.warmup * 1000) {
      isWarm = true
      fleet.counts.clear()
      startedAt = performance.now()
    }
    const second = takeSecond(isWarm)
    if (print) print(second)
    else console.log(lineOf(second))
  }, 1_000)

  await stopAsked(command.seconds > 0 ? (command.warmup + command.seconds) * 1000 : undefined)
  const seconds = (performance.now() - startedAt) / 1000
  const report = fleet.report()
  clearInterval(everySecond)
  fleet.pause()
  if (!(await fleet.settled(5_000)) && !print) console.log('not everything sent was acknowledged within 5 s')
  await fleet.stop()
  if (print) print({ isFinal: true, seconds, ...report })
  else console.log(totalsOf(report, seconds))
  // Links that are still being opened would keep the process.
  process.exit(fleet.counts.faultCount > 0 ? 1 : 0)
}

/** Resolves after the time, on Ctrl-C or SIGTERM, or when the process that started this one is gone. */
function stopAsked(afterMs: number | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (afterMs !== undefined) setTimeout(resolve, afterMs)
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
    process.once('disconnect', () => resolve())
    process.channel?.unref()
  })
}

try {
  const command = readFleetCommand(process.argv.slice(2))
  if (command.isHelp) console.log(fleetHelp())
  else await run(command)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(2)
}
