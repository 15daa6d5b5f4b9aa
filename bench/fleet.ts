import { Command } from 'commander'
import { runCommand, stopRequested } from '#bench/command-line'
import { lineOf, secondsOf, totalsOf } from '#bench/fleet/counts'
import { Fleet } from '#bench/fleet/fleet'
import { type FleetOptions, fleetDefaults, fleetOptions, secondsOption } from '#bench/fleet/options'
import { putSchemas } from '#bench/fleet/schemas'

interface CommandOptions extends Partial<FleetOptions> {
  readonly seconds: number
  readonly json?: true
  readonly schemas?: true
}

const command = new Command('npm run fleet --')
  .description('A simulated fleet on the device link. Exit code 1 when the server broke the protocol.')
  .addOption(secondsOption)
  .option('--json', 'one JSON object a second, the totals last')
  .option('--schemas', 'store the schemas of the services first, so that raw=false shows names; only with IAM off')
  .action(run)
for (const [name, each] of Object.entries(fleetOptions)) {
  if (name !== 'links') each.default(fleetDefaults[name as keyof typeof fleetDefaults])
  command.addOption(each)
}

async function run({ json, schemas, seconds, ...options }: CommandOptions): Promise<void> {
  const fleet = new Fleet({ links: options.devices ?? fleetDefaults.devices, ...options })
  const print = (text: string, object: object) => console.log(json ? JSON.stringify(object) : text)
  if (schemas) await putSchemas(fleet.options.url.replace(/^ws/, 'http'), fleet.kinds)
  const takeSecond = secondsOf(fleet)
  const startedAt = performance.now()
  fleet.start()
  const everySecond = setInterval(() => {
    const second = takeSecond()
    print(lineOf(second), second)
  }, 1_000)

  await stopRequested(seconds)
  const measured = (performance.now() - startedAt) / 1000
  const report = fleet.report()
  clearInterval(everySecond)
  fleet.pause()
  if (!(await fleet.settled(5_000))) console.error('not all frames were acknowledged within 5 s')
  await fleet.stop()
  print(totalsOf(report, measured), { isFinal: true, seconds: measured, ...report })
  // Links that are still opening would keep the process alive.
  process.exit(fleet.counts.faultCount > 0 ? 1 : 0)
}

await runCommand(command)
