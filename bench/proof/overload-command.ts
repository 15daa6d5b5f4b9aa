import { parseArgs } from 'node:util'
import { type Outcome, type Proof, positive, seedFrom, seedOption } from '#bench/proof/outcome'
import { caseText } from '#bench/proof/overload/case-runner'
import { overloadCases } from '#bench/proof/overload/cases'
import { type OverloadProofReport, proveOverload } from '#bench/proof/overload/overload'

const cases = Object.entries(overloadCases)

const memoryMeant =
  'The cap applies to private memory (RssAnon, read 20 times a second). Mapped files (the program and tables of the ' +
  'database), which the kernel can reclaim, are measured and not judged.'

const help = `Usage: npm run proof -- overload [options]

Overloads a server in several ways, one after the other, each with its own server, rated for a tenth of the measured maximum:
memory must stay below a cap, refused clients must get an answer, acknowledged changes must be stored once, and the normal p99
of events must return within 5 s. ${memoryMeant}

${cases.map(([name, { about, seconds, capMib }]) => `  ${name.padEnd(11)} ${about}; ${seconds} s, ${capMib} MiB`).join('\n')}

  --only A,B            of these (all)
  --rated N             frames/s (a tenth of what is measured first)
  --seconds S           duration of each overload (as above)
  --scale F             a factor for everything in thousands, such as 0.1 (1)
  --seed N              random seed (the clock)`

export const overloadProof: Proof = {
  about: 'ten times the load, reconnect storms, many dashboards, floods and slow clients',
  help,
  async run(args, print) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...seedOption,
        only: { type: 'string', default: cases.map(([name]) => name).join(',') },
        rated: { type: 'string' },
        seconds: { type: 'string' },
        scale: { type: 'string', default: '1' },
      },
    })
    const seed = seedFrom(values.seed)
    print(`seed ${seed}`)
    const report = await proveOverload({
      names: namesFrom(values.only),
      seed,
      scale: scaleFrom(values.scale),
      baselineSeconds: 6,
      observationSeconds: 30,
      ...(values.rated !== undefined && { rated: positive('rated', values.rated) }),
      ...(values.seconds !== undefined && { seconds: positive('seconds', values.seconds) }),
      print,
    })
    return outcomeOf(seed, report)
  },
}

function outcomeOf(seed: number, { seconds, problems, maximum, rated, cases }: OverloadProofReport): Outcome {
  const measured = maximum === undefined ? '' : `, a tenth of ${maximum}`
  return {
    seed,
    seconds,
    summary: [
      `rated for ${rated} frames/s${measured}`,
      memoryMeant,
      ...Object.entries(cases).map(([name, report]) => {
        return `${name}, ${overloadCases[name]?.about}: ${caseText(report)}`
      }),
    ],
    problems,
  }
}

function namesFrom(text: string): readonly string[] {
  const names = text.split(',')
  const unknown = names.find((name) => !Object.hasOwn(overloadCases, name))
  if (unknown !== undefined) throw new RangeError(`--only: no such overload: '${unknown}'`)
  return names
}

function scaleFrom(text: string): number {
  const scale = Number(text)
  if (!(scale > 0 && scale <= 1)) throw new RangeError(`--scale: above 0, at most 1; got '${text}'`)
  return scale
}
