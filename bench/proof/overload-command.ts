import { parseArgs } from 'node:util'
import { type Outcome, type Proof, positive, seedFrom, seedOption } from '#bench/proof/outcome'
import { overloadCases } from '#bench/proof/overload/cases'
import { type OverloadProofReport, proveOverload } from '#bench/proof/overload/overload'
import { caseText } from '#bench/proof/overload/run-case'

const cases = Object.entries(overloadCases)

const memoryMeant =
  'A cap is for what the process holds for itself (RssAnon, looked at 20 times a second); files that are mapped (the program ' +
  'and tables of the database), which the kernel takes back when it needs the room, are measured and not judged.'

const help = `Usage: npm run proof -- overload [options]

Puts on a server what it can't take, one kind after the other, each on a server of its own that is rated for a tenth of what
was measured: what it holds stays within a cap, whoever is turned away is told so, all that was acknowledged is stored once,
and the usual p99 of events is back within 5 s. ${memoryMeant}

${cases.map(([name, { about, seconds, capMib }]) => `  ${name.padEnd(11)} ${about}; ${seconds} s, ${capMib} MiB`).join('\n')}

  --only A,B            of these (all)
  --rated N             frames/s (a tenth of what is measured first)
  --seconds S           how long each overload goes on (as above)
  --scale F             of what there are thousands of, such as 0.1 (1)
  --seed N              of chance (the clock)`

export const overloadProof: Proof = {
  about: 'ten times the load, storms, crowds, floods and the slow',
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
      usualSeconds: 6,
      lookSeconds: 30,
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
    said: [
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
