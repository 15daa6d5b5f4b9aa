import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { findMutant, mutantNames } from '#bench/proof/mutants'

const help = `Usage: npm run proof -- mutants [options] [NAME…]

Plants mistakes in copies of the server, one at a time, and runs the simulation until it finds them.
They lie in test/simulation/mutants: ${mutantNames().join(', ')}.

  --seeds N             so many at most for each (200)
  --processes N         so many at a time (as many as there are processors)`

/** Answers whether all were found. */
export async function mutantsCommand(args: readonly string[]): Promise<boolean> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seeds: { type: 'string', default: '200' },
      processes: { type: 'string', default: String(availableParallelism()) },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(help)
    return true
  }
  const options = { seedsMax: Number(values.seeds), processes: Number(values.processes) }
  let areAllFound = true
  for (const name of positionals.length > 0 ? positionals : mutantNames()) {
    const { found, seeds, seconds } = await findMutant(name, options)
    const took = `${seeds} seeds, ${seconds.toFixed(0)} s`
    if (found) console.log(`${name}: found by seed ${found.seed} (${took}): ${firstLine(found.fault)}`)
    else console.error(`${name}: NOT FOUND (${took})`)
    areAllFound &&= found !== undefined
  }
  return areAllFound
}

function firstLine(text = ''): string {
  return (text.split('\n')[0] ?? '').slice(0, 200)
}
