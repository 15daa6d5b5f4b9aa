import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { findMutants, type MutantReport, mutantNames, noteSeed, seedOf } from '#bench/proof/mutants'

const help = `Usage: npm run proof -- mutants [options] [NAME…]

Plants bugs in copies of the server, one in each, and runs the simulation until it finds them: first with the seed that is
noted with the bug, then with others. A bug is found when the simulation reports the text of the line 'Expect: TEXT' before its
patch (… matches any text), and not when it reports another fault, dies, or was not compiled. Patches in test/simulation/mutants:
  ${mutantNames().join('\n  ')}

  --seeds N             maximum number of seeds for each (200)
  --processes N         number of processes (one for each processor)
  --note                updates noted seeds that no longer find their bug`

/** Resolves with whether all mutants were found. */
export async function mutantsCommand(args: readonly string[]): Promise<boolean> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seeds: { type: 'string', default: '200' },
      processes: { type: 'string', default: String(availableParallelism()) },
      note: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(help)
    return true
  }
  const options = { seedsMax: Number(values.seeds), processes: Number(values.processes) }
  const begun = performance.now()
  let areAllFound = true
  const names = positionals.length > 0 ? positionals : mutantNames()
  await findMutants(names, options, (report) => {
    const { name, found } = report
    if (found) console.log(lineOf(report))
    else console.error(lineOf(report))
    if (found && values.note && seedOf(name) !== found.seed) noteSeed(name, found.seed)
    areAllFound &&= found !== undefined
  })
  console.log(`${names.length} bugs in ${((performance.now() - begun) / 1000).toFixed(0)} s`)
  return areAllFound
}

export function lineOf({ name, found, other, broken, seeds, seconds }: MutantReport): string {
  const took = `${seeds} seeds, ${seconds.toFixed(0)} s`
  if (found) return `${name}: found by seed ${found.seed} (${took}): ${firstLine(found.fault)}`
  const missed = `${name}: NOT FOUND (${took})`
  if (broken !== undefined) return `${missed}: there is nothing to run, ${broken}`
  if (!other) return `${missed}: nothing was wrong`
  return `${missed}: the expected fault was not reported; seed ${other.seed}: ${firstLine(other.fault)}`
}

function firstLine(text = ''): string {
  return (text.split('\n')[0] ?? '').slice(0, 200)
}
