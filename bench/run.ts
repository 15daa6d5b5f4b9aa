import { availableParallelism, cpus } from 'node:os'
import type { Bench } from '#bench/bench'
import { ingest } from '#bench/benches/ingest'

/** `npm run bench`: single runs, one after the other; no medians and no comparison yet. */
const benches: Readonly<Record<string, Bench>> = { ingest }

const args = process.argv.slice(2)
const names = args.filter((arg) => !arg.startsWith('-'))
const unknown = names.filter((name) => !Object.hasOwn(benches, name))

if (args.includes('--help') || unknown.length > 0) {
  for (const name of unknown) console.error(`no such bench: ${name}`)
  console.log('Usage: npm run bench -- [--list] [name …]   (all of them without a name)')
  process.exit(unknown.length > 0 ? 2 : 0)
}
if (args.includes('--list')) {
  for (const [name, bench] of Object.entries(benches)) console.log(`${name}  ${bench.question}`)
  process.exit(0)
}
console.log(`Node ${process.version}, ${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown processor'}`)
for (const name of names.length > 0 ? names : Object.keys(benches)) {
  console.log(`\n${name}: ${benches[name]?.question}`)
  try {
    await benches[name]?.run((line) => console.log(`  ${line}`))
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
