import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Dashboard, type StreamEvent } from '#bench/dashboard'
import { identityOn } from '#bench/harness/identity'
import { loadedBefore } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { Office } from '#bench/proof/clerks/office'
import { ProofApi } from '#bench/proof/clerks/proof-api'
import { openLeft, patient, streamFaults } from '#bench/proof/left-folder'
import { SeededRandom } from '#bench/random'
import { freePort, startServer } from '#bench/server-process'
import { checkDatabase } from '#store/level-files/check'
import { repairFolder } from '#store/repair/repair'

export interface TailsProofOptions {
  readonly seed: number
  /** Of each kind, of each file. */
  readonly faultsEach: number
  readonly lifeMs: number
  readonly print: (line: string) => void
}

export interface TailsProofReport {
  readonly seconds: number
  readonly files: number
  readonly faults: number
  /** Said at the start, and not opened. */
  readonly refused: number
  /** Opened, and said what was left out. */
  readonly warned: number
  /** Opened whole: what was damaged is not used any more, or holds nothing. */
  readonly unharmed: number
  /** Opened with less, which was cut off between two writes: nobody can see that. */
  readonly cutBetween: number
  /** Damage inside of tables, which a start does not read: found by the doctor. */
  readonly foundWhole: number
  /** Repaired, opened, and written to. */
  readonly repaired: number
  readonly problems: readonly string[]
}

type Verdict = 'refused' | 'warned' | 'unharmed' | 'cutBetween' | 'foundWhole'

/** What is done to one file. */
interface Fault {
  readonly file: string
  readonly said: string
  /** Inside of a table, away from its ends. */
  readonly isDeep: boolean
  damage(path: string): void
}

/** In so many bytes before the end it counts as a tail: foot, index and filter of a table, the last writes of a log. */
const tailBytes = 512
const lives = 3
const problemsMax = 5

/**
 * Damages the end of every file of a database, and tables inside, one after the other, and opens what is left: each must open
 * without a gap and say what it left out, or say what is damaged and not open; `repair` must make a database of it again.
 */
export async function proveTails(options: TailsProofOptions): Promise<TailsProofReport> {
  const startedAt = performance.now()
  const folder = temporaryFolder('tails-proof-')
  try {
    const whole = await leave(folder.path, options)
    const faults = faultsOf(join(whole.dataFolder, 'db'), options)
    const counts: Record<Verdict, number> = { refused: 0, warned: 0, unharmed: 0, cutBetween: 0, foundWhole: 0 }
    const problems: string[] = []
    let repaired = 0
    for (const [place, fault] of faults.entries()) {
      if (problems.length >= problemsMax) break
      const state = join(folder.path, `state-${place}`)
      if (place % 25 === 0) options.print(`${place} of ${faults.length} faults`)
      const judged = await withDamaged(fault, state, whole, () => judge(fault, state, whole))
      if ('problem' in judged) problems.push(`${fault.file}, ${fault.said}: ${judged.problem}`)
      else counts[judged.verdict]++
      if ('problem' in judged || (judged.verdict !== 'refused' && judged.verdict !== 'foundWhole')) continue
      const fallen = await withDamaged(fault, `${state}-repaired`, whole, (copy) => repairFaults(copy, whole))
      problems.push(...fallen.map((text) => `${fault.file}, ${fault.said}: after its repair ${text}`))
      if (fallen.length === 0) repaired++
    }
    return {
      seconds: (performance.now() - startedAt) / 1000,
      files: new Set(faults.map(({ file }) => file)).size,
      faults: faults.length,
      ...counts,
      repaired,
      problems,
    }
  } finally {
    await folder.remove()
  }
}

interface Whole {
  readonly dataFolder: string
  readonly office: Office
  readonly told: readonly StreamEvent[]
}

/** Leaves a folder behind, as a killed server does, with tables, a manifest that was written to, and a log. */
async function leave(folder: string, { seed, lifeMs }: TailsProofOptions): Promise<Whole> {
  const port = await freePort()
  const dataFolder = join(folder, 'data')
  mkdirSync(dataFolder, { mode: 0o700 })
  const told: StreamEvent[] = []
  let office: Office | undefined
  let dashboard: Dashboard | undefined
  for (let life = 0; life < lives; life++) {
    const server = await startServer({
      port,
      dataFolder,
      environment: { ...identityOn, ...patient },
      nodeArguments: loadedBefore('harness/cheap-passwords'),
      isKilledAtExit: true,
    })
    office ??= await Office.open({ port, dataFolder, random: new SeededRandom(seed) })
    const faults = await office.settle()
    if (faults.length > 0) throw new Error(`before anything was damaged: ${faults.join('; ')}`)
    if (!dashboard) {
      const { authorization, first: from } = office
      const onEvent = (event: StreamEvent) => told.push(event)
      const url = `http://127.0.0.1:${port}`
      dashboard = new Dashboard({ url, from, authorization, isFolding: false, backoffMsMax: 200, onEvent })
      dashboard.start()
    }
    let isOver = false
    const working = office.work(() => isOver)
    await new Promise((resolve) => setTimeout(resolve, lifeMs))
    isOver = true
    await working
    await server.kill()
  }
  dashboard?.stop()
  await office?.end()
  if (!office) throw new Error('there was no life')
  return { dataFolder, office, told }
}

function faultsOf(database: string, { seed, faultsEach }: TailsProofOptions): readonly Fault[] {
  const random = new SeededRandom(seed + 1)
  return readdirSync(database)
    .filter((name) => /^(\d+\.(ldb|log)|MANIFEST-\d+|CURRENT)$/.test(name))
    .flatMap((file) => {
      const { length } = readFileSync(join(database, file))
      const tail = Math.min(length, tailBytes)
      const cuts = [1, tail, length, ...Array.from({ length: faultsEach }, () => 1 + random.below(tail))]
      const flips = Array.from({ length: faultsEach }, () => length - 1 - random.below(tail))
      const deep = file.endsWith('.ldb') ? Array.from({ length: faultsEach }, () => random.below(length)) : []
      const gone: Fault = { file, said: 'taken away', isDeep: false, damage: (path) => rmSync(path) }
      return [
        gone,
        ...cuts.filter((bytes) => bytes <= length && length > 0).map((bytes) => cutOff(file, bytes, length)),
        ...[...flips.filter((at) => at >= 0), ...deep].map((at, place) =>
          flipped(file, at, 1 << random.below(8), length, place >= flips.length),
        ),
      ]
    })
}

function cutOff(file: string, bytes: number, length: number): Fault {
  const said = `its last ${bytes} of ${length} bytes cut off`
  return { file, said, isDeep: false, damage: (path) => truncateSync(path, length - bytes) }
}

function flipped(file: string, at: number, bit: number, length: number, isDeep: boolean): Fault {
  return {
    file,
    said: `a bit of byte ${at} of ${length} turned over`,
    isDeep,
    damage(path) {
      const bytes = readFileSync(path)
      bytes[at] = (bytes[at] ?? 0) ^ bit
      writeFileSync(path, bytes)
    },
  }
}

async function withDamaged<Result>(
  fault: Fault,
  state: string,
  { dataFolder }: Whole,
  use: (state: string) => Promise<Result>,
): Promise<Result> {
  cpSync(dataFolder, state, { recursive: true })
  fault.damage(join(state, 'db', fault.file))
  try {
    return await use(state)
  } finally {
    rmSync(state, { recursive: true, force: true })
  }
}

async function judge(
  fault: Fault,
  folder: string,
  { office, told }: Whole,
): Promise<{ readonly verdict: Verdict } | { readonly problem: string }> {
  const before = await checkDatabase(join(folder, 'db'), 'whole')
  const left = await openLeft(folder)
  if (!left.running) {
    const isSaid = /is damaged|is not there|CURRENT/.test(left.refusal ?? '') && !left.refusal?.startsWith('a bug')
    return isSaid ? { verdict: 'refused' } : { problem: `it is not said what is wrong: ${left.refusal}` }
  }
  try {
    const { port } = left.running
    const url = `http://127.0.0.1:${port}`
    const ofStream = await streamFaults(url, office, told)
    // What was heard and is gone may have been cut off; all else is a lie.
    const lies = ofStream.filter((text) => !text.endsWith('is gone'))
    if (lies.length > 0 && before.damage.length === 0) return { problem: `it opens, and ${lies.join('; ')}` }
    const at = Number.POSITIVE_INFINITY
    const missing = [...ofStream, ...(await office.faultsAt(at, { port, dataFolder: folder }))]
    if (left.warnings.some((line) => line.includes('ends in the middle of a write'))) return { verdict: 'warned' }
    if (before.damage.length > 0)
      return fault.isDeep ? { verdict: 'foundWhole' } : { problem: `it opens though ${before.damage[0]}` }
    if (missing.length === 0) return { verdict: 'unharmed' }
    if (fault.file.endsWith('.log') && fault.said.includes('cut off')) return { verdict: 'cutBetween' }
    return { problem: `it opens, says nothing, and ${missing[0]}` }
  } finally {
    await left.running.stop()
  }
}

/** What is wrong with what a repair makes of it: it must open, take writes, and be nothing that anybody resumes over. */
async function repairFaults(state: string, whole: Whole): Promise<readonly string[]> {
  const found = await repairFolder({ folder: state, name: 'proof', isForced: false }).catch((error: Error) => error)
  if (found instanceof Error) return [`it is not mended: ${found.stack}`]
  if (found.keptIn === undefined) return ['nothing was found to mend']
  if (!readdirSync(state).includes(found.keptIn)) return ['the damaged one is not kept']
  const { damage } = await checkDatabase(join(state, 'db'), 'whole')
  if (damage.length > 0) return damage
  const left = await openLeft(state)
  if (!left.running) return [`it does not open: ${left.refusal}`]
  await left.running.stop()
  // Who may sign in may be among what is lost.
  const open = await openLeft(state, { IAM: 'off' })
  if (!open.running) return [`it does not open a second time: ${open.refusal}`]
  try {
    return await afterRepair(open.running.port, whole)
  } finally {
    await open.running.stop()
  }
}

async function afterRepair(port: number, { office: { first }, told }: Whole): Promise<readonly string[]> {
  const url = `http://127.0.0.1:${port}`
  const last = told.at(-1)?.offset ?? first.offset
  const from = { epoch: first.epoch, offset: last }
  const old = new Dashboard({ url, from, isFolding: false, backoffMsMax: 50 })
  old.start()
  const faults = (await old.caughtUp(10_000)) ? [] : ['nobody hears the stream']
  old.stop()
  if (old.counts.recovered > 0) faults.push('a position of before is recovered')
  const offset = old.position?.offset ?? 0
  if (offset <= last) faults.push(`offset ${offset} may be given again: ${last} was heard before`)
  const api = new ProofApi(url, '', '')
  const made = await api.ask('POST', '/devices', { body: { deviceIdentifier: 'NEW-AFTER-REPAIR' } })
  if (made.status !== 201) faults.push(`making a device is answered ${made.status} ${made.text}`)
  return faults
}
