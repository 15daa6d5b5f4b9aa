import { parseArgs } from 'node:util'
import type { ComparisonReport } from '#bench/fleet/stream-comparison'
import type { KillProofOptions, KillProofReport } from '#bench/proof/kill'
import { proveKill } from '#bench/proof/kill'
import { type Outcome, type Proof, positive, seedFrom, seedOption } from '#bench/proof/outcome'
import type { ChangeCounts } from '#bench/proof/workloads/expected-state'

const help = `Usage: npm run proof -- kill [options]

Kills the server (SIGKILL) repeatedly while fleets report and workloads make every other kind of write, and checks that
every acknowledged write is there. DURABILITY alternates between process and disk. CONTRIBUTING.md lists the kinds of write.

  --rounds N            (500)
  --seed N              random seed (the clock)
  --devices N           total (100)
  --rate N              changes/s, total (4000)
  --life-ms N           maximum time between a start and the next kill (2000)
  --seconds-max S       no round begins after this time (3600)`

export const killProof: Proof = {
  about: '500 times SIGKILL under reports and all other kinds of write',
  help,
  async run(args, print) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...seedOption,
        rounds: { type: 'string', default: '500' },
        devices: { type: 'string', default: '100' },
        rate: { type: 'string', default: '4000' },
        'life-ms': { type: 'string', default: '2000' },
        'seconds-max': { type: 'string', default: '3600' },
      },
    })
    const options: KillProofOptions = {
      rounds: positive('rounds', values.rounds),
      seed: seedFrom(values.seed),
      devices: positive('devices', values.devices),
      rate: positive('rate', values.rate),
      lifeMsMax: positive('life-ms', values['life-ms']),
      secondsMax: positive('seconds-max', values['seconds-max']),
      print,
    }
    print(`seed ${options.seed}, ${options.rounds} rounds, ${options.devices} devices, ${options.rate} changes/s`)
    return outcomeOf(options.seed, await proveKill(options))
  },
}

function outcomeOf(seed: number, report: KillProofReport): Outcome {
  const { rounds, seconds, idleRounds, longestStartMs, resumed, fromStart, writes, idleKinds, problems } = report
  const all = sumOf(Object.values(writes))
  return {
    seed,
    seconds,
    summary: [
      `${rounds} rounds in ${seconds.toFixed(0)} s, ${idleRounds} without an acknowledgement; longest start ${longestStartMs} ms`,
      `resumed dashboard: ${countsOf(resumed)}`,
      `from the start:    ${countsOf(fromStart)}`,
      `${Object.keys(writes).length} other kinds of write: ${all.acknowledged} acknowledged and found; of those that a kill interrupted ` +
        `${all.landed} were applied and ${all.vanished} not, ${all.repeated} were repeated with their key`,
      ...(idleKinds.length > 0 ? [`without an acknowledged write: ${idleKinds.join(', ')}`] : []),
    ],
    problems,
  }
}

function sumOf(counts: readonly ChangeCounts[]): ChangeCounts {
  const sum = (field: keyof ChangeCounts) => counts.reduce((total, each) => total + each[field], 0)
  return {
    acknowledged: sum('acknowledged'),
    landed: sum('landed'),
    vanished: sum('vanished'),
    repeated: sum('repeated'),
    busy: sum('busy'),
  }
}

function countsOf(report: ComparisonReport): string {
  return (
    `${report.acknowledged} frames acknowledged, ${report.found} found, ${report.lost} lost, ${report.doubled} doubled, ` +
    `${report.disordered} out of order, ${report.wrong} wrong, ${report.unacknowledged} unacknowledged but stored; ` +
    `${report.changesReceived} changes` +
    (report.overridden + report.stripped > 0 ? `; ${report.overridden} overridden, ${report.stripped} stripped` : '')
  )
}
