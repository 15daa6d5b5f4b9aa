import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { findMutants, mutantNames, noteSeed, seedOf } from '#bench/proof/mutants'

const help = `Usage: npm run proof -- mutants [options] [NAME…]

Plants mistakes in copies of the server, one in each, and runs the simulation until it finds them: first with the seed that is
noted with the mistake, then with others. They lie in test/simulation/mutants:
  ${mutantNames().join('\n  ')}

  --seeds N             so many at most for each (200)
  --processes N         so many at a time (as many as there are processors)
  --note                notes the seeds that found them, where those that are noted do so no more`

/** Answers whether all were found. */
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
  await findMutants(names, options, ({ name, found, seeds, seconds }) => {
    const took = `${seeds} seeds, ${seconds.toFixed(0)} s`
    if (found) console.log(`${name}: found by seed ${found.seed} (${took}): ${firstLine(found.fault)}`)
    else console.error(`${name}: NOT FOUND (${took})`)
    if (found && values.note && seedOf(name) !== found.seed) noteSeed(name, found.seed)
    areAllFound &&= found !== undefined
  })
  console.log(`${names.length} mistakes in ${((performance.now() - begun) / 1000).toFixed(0)} s`)
  return areAllFound
}

function firstLine(text = ''): string {
  return (text.split('\n')[0] ?? '').slice(0, 200)
}
