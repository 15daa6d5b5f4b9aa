import { parseArgs } from 'node:util'
import { type Outcome, type Proof, positive, seedFrom, seedOption } from '#bench/proof/outcome'
import { type GaugeName, type Growth, gauges, slopeText } from '#bench/proof/soak/growth'
import { proveSoak, type SoakOptions, type SoakReport, warmShare } from '#bench/proof/soak/soak'

const help = `Usage: npm run proof -- soak [options]

Runs the server for half an hour under the load of the kill proof, but without kills, while devices and subscribers come and
go, and measures whether it needs more and more memory, descriptors or disk once it is warm: after two fifths of the time. In
a shorter run the server's time passes faster, so that it forgets as early; below ten minutes little differs from noise.

  --minutes N           (30)
  --seed N              of chance (the clock)`

/** In all; changes a second, in all. */
const fleetSize = { devices: 500, rate: 15_000 } as const

export const soakProof: Proof = {
  about: 'half an hour under all kinds of load without growing',
  help,
  async run(args, print) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...seedOption,
        minutes: { type: 'string', default: '30' },
      },
    })
    const options: SoakOptions = {
      seed: seedFrom(values.seed),
      minutes: positive('minutes', values.minutes),
      ...fleetSize,
      print,
    }
    print(`seed ${options.seed}, ${options.minutes} minutes, ${options.devices} devices, ${options.rate} changes/s`)
    return outcomeOf(options, await proveSoak(options))
  },
}

function outcomeOf({ seed, minutes, devices }: SoakOptions, report: SoakReport): Outcome {
  const { seconds, changesAcknowledged, changesPerSecond, growth, heard, visits, writes, problems } = report
  const kinds = Object.values(writes)
  const acknowledged = kinds.reduce((sum, each) => sum + each.acknowledged, 0)
  return {
    seed,
    seconds,
    said: [
      `${minutes} minutes, the first ${(minutes * warmShare).toFixed(1)} of them to get warm: ${changesAcknowledged} changes of ${devices} ` +
        `devices acknowledged, ${changesPerSecond.toFixed(0)} a second`,
      `${visits.devices} devices and ${visits.subscribers} subscribers that connected and left; ${acknowledged} writes of ` +
        `${kinds.length} other kinds`,
      `${heard.acknowledged} frames acknowledged, ${heard.found} heard, ${heard.overridden} overridden, ${heard.lost} lost, ` +
        `${heard.doubled} doubled, ${heard.disordered} out of order, ${heard.wrong} wrong`,
      ...Object.entries(growth).map(([name, grown]) => lineOf(name as GaugeName, grown)),
    ],
    problems,
  }
}

function lineOf(name: GaugeName, { median, min, max, slope }: Growth): string {
  const { title, unit, digits } = gauges[name]
  const [middle, least, most] = [median, min, max].map((value) => value.toFixed(digits))
  return `${title}: ${middle}${unit && ` ${unit}`} (${least}–${most}), ${slopeText({ unit }, slope)}`
}
