import { parseArgs } from 'node:util'
import type { HeardReport } from '#bench/fleet/heard'
import { fleetWays } from '#bench/proof/fleets'
import type { KillProofOptions } from '#bench/proof/kill'
import { proveKill } from '#bench/proof/kill'

const help = `Usage: npm run proof -- kill [options]

Kills the server again and again under load, and counts what became of every acknowledged value.

  --rounds N            (200)
  --seed N              of chance (the clock)
  --devices N           in all (100)
  --rate N              changes/s in all (4000)
  --ways A,B            ${fleetWays.join(', ')} (all)
  --durability WORD     process, disk, both: in turn (both)
  --seconds-max S       no round begins after so long (1800)
  --server FILE         instead of dist/src/main.js`

/** Answers whether the promise held. */
export async function killCommand(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '200' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
      devices: { type: 'string', default: '100' },
      rate: { type: 'string', default: '4000' },
      ways: { type: 'string', default: fleetWays.join(',') },
      durability: { type: 'string', default: 'both' },
      'seconds-max': { type: 'string', default: '1800' },
      server: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(help)
    return true
  }
  const options: KillProofOptions = {
    rounds: positive('rounds', values.rounds),
    seed: positive('seed', values.seed),
    devices: positive('devices', values.devices),
    rate: positive('rate', values.rate),
    ways: values.ways.split(','),
    durability: durabilityFrom(values.durability),
    secondsMax: positive('seconds-max', values['seconds-max']),
    print: (line) => console.log(line),
    ...(values.server !== undefined && { program: values.server }),
  }
  console.log(`seed ${options.seed}, ${options.rounds} rounds, ${options.devices} devices, ${options.rate} changes/s`)
  const report = await proveKill(options)
  console.log(
    `${report.rounds} rounds in ${report.seconds.toFixed(0)} s, ${report.idleRounds} without an acknowledgement`,
  )
  console.log(`longest start ${report.longestStartMs} ms`)
  console.log(`resumed dashboard: ${countsOf(report.resumed)}`)
  console.log(`from the start:    ${countsOf(report.fromStart)}`)
  for (const problem of report.problems) console.error(`WRONG: ${problem}`)
  console.log(report.problems.length === 0 ? 'the promise held' : `the promise was broken; seed ${options.seed}`)
  return report.problems.length === 0
}

function countsOf(report: HeardReport): string {
  return (
    `${report.acknowledged} frames acknowledged, ${report.found} found, ${report.lost} lost, ${report.doubled} doubled, ` +
    `${report.disordered} out of order, ${report.wrong} wrong, ${report.unacknowledged} unacknowledged but stored; ` +
    `${report.changesHeard} changes` +
    (report.overridden + report.stripped > 0 ? `; ${report.overridden} overridden, ${report.stripped} stripped` : '')
  )
}

function positive(name: string, text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1) throw new RangeError(`--${name}: a positive integer; got '${text}'`)
  return number
}

function durabilityFrom(word: string): KillProofOptions['durability'] {
  if (word === 'process' || word === 'disk' || word === 'both') return word
  throw new RangeError(`--durability: process, disk or both; got '${word}'`)
}
