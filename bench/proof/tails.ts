import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Dashboard, type StreamEvent, type StreamPosition, streamHead } from '#bench/dashboard'
import { identityOn } from '#bench/harness/identity'
import { loadedBefore } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { Office } from '#bench/proof/clerks/office'
import { ProofApi } from '#bench/proof/clerks/proof-api'
import { openLeft, patient, streamFaults } from '#bench/proof/left-folder'
import { type LogLoss, type LogMark, lossOf, type WrittenLog, writtenLog } from '#bench/proof/tails/log-loss'
import { redoFaults } from '#bench/proof/tails/redo-faults'
import { resumptionFaults } from '#bench/proof/tails/resumption'
import { SeededRandom } from '#bench/random'
import { freePort, startServer } from '#bench/server-process'
import { checkDatabase, logsToRead, readManifest } from '#store/level-files/check'
import { repairFolder } from '#store/repair/repair'

export interface TailsProofOptions {
  readonly seed: number
  /** Of each kind, of each file. */
  readonly faultsEach: number
  readonly lifeMs: number
  readonly print: (line: string) => void
  /** For trying the proof itself: which faults alone, and what is done besides. */
  readonly trial?: {
    readonly files: RegExp
    plant(database: string, fault: TailFault): void
  }
}

export interface TailsProofReport {
  readonly seconds: number
  readonly files: number
  readonly faults: number
  /** Said at the start, and not opened. */
  readonly refused: number
  /** Opened, and said what was left out: the end of a log, and nothing is missing that was acknowledged before it. */
  readonly warned: number
  /** Opened whole: what was damaged is not used any more, or holds nothing. */
  readonly unharmed: number
  /** Opened with less, which was cut off between two writes: nobody can see that. All before it is there. */
  readonly cutBetween: number
  /** Damage inside of tables, which a start does not read: found by the doctor. */
  readonly foundWhole: number
  /** Repaired, opened, and written to. */
  readonly repaired: number
  readonly problems: readonly string[]
}

type Verdict = 'refused' | 'warned' | 'unharmed' | 'cutBetween' | 'foundWhole'

/** What is done to one file. */
export interface TailFault {
  readonly file: string
  readonly said: string
  /** Inside of a table, away from its ends. */
  readonly isDeep: boolean
  /** The first byte that is not as it was, or not there. */
  readonly from: number
  /** In the file, of what was in it. */
  readonly bytesLeft: number
  damage(path: string): void
}

/** In so many bytes before the end it counts as a tail: foot, index and filter of a table, the last writes of a log. */
const tailBytes = 512
const lives = 3
const problemsMax = 5
const catchUpMsMax = 10_000

/**
 * Damages the end of every file of a database, and tables inside, one after the other, and opens what is left: each must open
 * without a gap and say what it left out, or say what is damaged and not open; `repair` must make a database of it again.
 *
 * Of one that opens all must be there that was answered or told before the first write that is not whole: the last clerks
 * write one after the other, so that it is known how far the log was at each answer. Who heard no more than is left goes on
 * there; who heard more is told so.
 */
export async function proveTails(options: TailsProofOptions): Promise<TailsProofReport> {
  const startedAt = performance.now()
  const folder = temporaryFolder('tails-proof-')
  try {
    const whole = await leave(folder.path, options)
    const faults = faultsOf(join(whole.dataFolder, 'db'), options).filter(
      ({ file }) => options.trial?.files.test(file) ?? true,
    )
    const counts: Record<Verdict, number> = { refused: 0, warned: 0, unharmed: 0, cutBetween: 0, foundWhole: 0 }
    const problems: string[] = []
    let repaired = 0
    for (const [place, fault] of faults.entries()) {
      if (problems.length >= problemsMax) break
      const state = join(folder.path, `state-${place}`)
      if (place % 25 === 0) options.print(`${place} of ${faults.length} faults`)
      const judged = await withDamaged(fault, state, whole, (copy) => {
        options.trial?.plant(join(copy, 'db'), fault)
        return judge(fault, copy, whole)
      })
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
  readonly told: readonly ToldEvent[]
  /** Heard last. */
  readonly last: StreamPosition
  /** Those that an opening reads. */
  readonly logs: readonly WrittenLog[]
  readonly marks: readonly LogMark[]
  /** All images that ever were. */
  readonly imagesKept: string
}

interface ToldEvent {
  /** Unix ms. */
  readonly at: number
  readonly event: StreamEvent
}

/** Leaves a folder behind, as a killed server does, with tables, a manifest that was written to, and a log. */
async function leave(folder: string, { seed, lifeMs }: TailsProofOptions): Promise<Whole> {
  const port = await freePort()
  const dataFolder = join(folder, 'data')
  mkdirSync(dataFolder, { mode: 0o700 })
  const told: ToldEvent[] = []
  const marks: LogMark[] = []
  const database = join(dataFolder, 'db')
  const imagesKept = join(folder, 'images')
  mkdirSync(imagesKept)
  const mark = () => {
    marks.push(markOf(database))
    keepImages(join(dataFolder, 'images'), imagesKept)
  }
  let office: Office | undefined
  let dashboard: Dashboard | undefined
  for (let life = 0; life < lives; life++) {
    if (life > 0) mark()
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
      const onEvent = (event: StreamEvent) => told.push({ at: now(), event })
      const url = `http://127.0.0.1:${port}`
      dashboard = new Dashboard({ url, from, authorization, isFolding: false, backoffMsMax: 200, onEvent })
      dashboard.start()
    }
    let isOver = false
    const working = office.work(() => isOver)
    await new Promise((resolve) => setTimeout(resolve, lifeMs))
    isOver = true
    await working
    if (life === lives - 1) {
      await office.takeTurns(mark)
      if (!(await dashboard.caughtUp(catchUpMsMax))) throw new Error('the stream could not be heard to its end')
    }
    await server.kill()
  }
  dashboard?.stop()
  const last = dashboard?.position
  if (!office || !last) throw new Error('there was no life')
  const manifest = await readManifest(database)
  if (typeof manifest === 'string') throw new Error(`before anything was damaged: ${manifest}`)
  const logs = logsToRead(readdirSync(database), manifest)
  return {
    dataFolder,
    office,
    told,
    last,
    logs: logs.map((file) => writtenLog(file, readFileSync(join(database, file)))),
    marks,
    imagesKept,
  }
}

/** An image is taken away behind the write that gives it up: without that write it is asked for again. */
function keepImages(images: string, kept: string): void {
  if (!existsSync(images)) return
  for (const name of readdirSync(images).filter((each) => /^[0-9a-f]{64}$/.test(each)))
    if (!existsSync(join(kept, name))) linkSync(join(images, name), join(kept, name))
}

function markOf(database: string): LogMark {
  const at = now()
  const logs = readdirSync(database).filter((name) => name.endsWith('.log'))
  return { at, bytes: new Map(logs.map((file) => [file, statSync(join(database, file)).size])) }
}

/** As the books have it: Unix ms with fractions. */
function now(): number {
  return performance.timeOrigin + performance.now()
}

function faultsOf(database: string, { seed, faultsEach }: TailsProofOptions): readonly TailFault[] {
  const random = new SeededRandom(seed + 1)
  return readdirSync(database)
    .filter((name) => /^(\d+\.(ldb|log)|MANIFEST-\d+|CURRENT)$/.test(name))
    .flatMap((file) => {
      const { length } = readFileSync(join(database, file))
      const tail = Math.min(length, tailBytes)
      const cuts = [1, tail, length, ...Array.from({ length: faultsEach }, () => 1 + random.below(tail))]
      const flips = Array.from({ length: faultsEach }, () => length - 1 - random.below(tail))
      const deep = file.endsWith('.ldb') ? Array.from({ length: faultsEach }, () => random.below(length)) : []
      const gone: TailFault = {
        file,
        said: 'taken away',
        isDeep: false,
        from: 0,
        bytesLeft: 0,
        damage: (path) => rmSync(path),
      }
      return [
        gone,
        ...cuts.filter((bytes) => bytes <= length && length > 0).map((bytes) => cutOff(file, bytes, length)),
        ...[...flips.filter((at) => at >= 0), ...deep].map((at, place) =>
          flipped(file, at, 1 << random.below(8), length, place >= flips.length),
        ),
      ]
    })
}

function cutOff(file: string, bytes: number, length: number): TailFault {
  const said = `its last ${bytes} of ${length} bytes cut off`
  const bytesLeft = length - bytes
  return { file, said, isDeep: false, from: bytesLeft, bytesLeft, damage: (path) => truncateSync(path, bytesLeft) }
}

function flipped(file: string, at: number, bit: number, length: number, isDeep: boolean): TailFault {
  return {
    file,
    said: `a bit of byte ${at} of ${length} turned over`,
    isDeep,
    from: at,
    bytesLeft: length,
    damage(path) {
      const bytes = readFileSync(path)
      bytes[at] = (bytes[at] ?? 0) ^ bit
      writeFileSync(path, bytes)
    },
  }
}

async function withDamaged<Result>(
  fault: TailFault,
  state: string,
  { dataFolder, imagesKept }: Whole,
  use: (state: string) => Promise<Result>,
): Promise<Result> {
  cpSync(dataFolder, state, { recursive: true })
  // Files beside the database are not what is damaged here; writes that are lost are those of logs.
  if (fault.file.endsWith('.log')) cpSync(imagesKept, join(state, 'images'), { recursive: true, force: false })
  fault.damage(join(state, 'db', fault.file))
  try {
    return await use(state)
  } finally {
    rmSync(state, { recursive: true, force: true })
  }
}

async function judge(
  fault: TailFault,
  folder: string,
  whole: Whole,
): Promise<{ readonly verdict: Verdict } | { readonly problem: string }> {
  const database = join(folder, 'db')
  const before = await checkDatabase(database, 'whole')
  const hasGaps = before.damage.length === 0 ? await redoFaults(database) : []
  const left = await openLeft(folder)
  if (!left.running)
    return isNamed(fault, left.refusal ?? '')
      ? { verdict: 'refused' }
      : { problem: `it is not said what is wrong: ${left.refusal}` }
  try {
    if (before.damage.length > 0)
      return fault.isDeep ? { verdict: 'foundWhole' } : { problem: `it opens though ${before.damage[0]}` }
    const [gap] = hasGaps
    if (gap !== undefined) return { problem: `it opens, and ${gap}` }
    const losses = whole.logs.map((log) =>
      lossOf(log, log.file === fault.file ? fault : { from: log.bytes, bytesLeft: log.bytes }, whole.marks),
    )
    const unsaid = unsaidOf(losses, left.warnings)
    if (unsaid !== undefined) return { problem: unsaid }
    const [missing] = await missingOf(losses, `http://127.0.0.1:${left.running.port}`, left.running.port, folder, whole)
    if (missing !== undefined) return { problem: `it opens, and ${missing}` }
    if (losses.some(({ tornBytes }) => tornBytes > 0)) return { verdict: 'warned' }
    return { verdict: losses.some(({ at }) => at < Number.POSITIVE_INFINITY) ? 'cutBetween' : 'unharmed' }
  } finally {
    await left.running.stop()
  }
}

/** Whether a refusal says which file it is about. */
function isNamed({ file }: TailFault, refusal: string): boolean {
  if (refusal.startsWith('a bug')) return false
  const [, digits, kind] = /^(\d+)\.(ldb|log)$/.exec(file) ?? []
  const byNumber = digits === undefined ? undefined : `${kind === 'log' ? 'log' : 'table'} ${Number(digits)} `
  // Cut off between two of its writes it is whole, and only does not fit to what is there.
  if (file.startsWith('MANIFEST') && refusal.includes('the manifest names it')) return true
  return refusal.includes(file) || (byNumber !== undefined && refusal.includes(byNumber))
}

/** What an opening leaves out is warned of, by the file and where it begins, and nothing else is. */
function unsaidOf(losses: readonly LogLoss[], warnings: readonly string[]): string | undefined {
  const said = warnings.flatMap((line) => {
    const [, file = '', bytes] = /(\d+\.log) ends in the middle of a write: (\d+) bytes/.exec(line) ?? []
    return bytes === undefined ? [] : [{ file, bytes: Number(bytes) }]
  })
  for (const { file, tornBytes } of losses) {
    const [found] = said.filter((each) => each.file === file)
    if (found ? tornBytes === 0 || found.bytes > tornBytes : tornBytes > 0)
      return `it opens, says ${found?.bytes ?? 'nothing'} of ${file}, and ${tornBytes} bytes are of a write that is not whole`
  }
  const other = said.find(({ file }) => !losses.some((loss) => loss.file === file))
  return other && `it opens, and warns of ${other.file}, which it does not read`
}

/** What is not there, though it was answered or told before the first write that is not whole; and a stream that does not go on. */
async function missingOf(
  losses: readonly LogLoss[],
  url: string,
  port: number,
  folder: string,
  { office, told, last }: Whole,
): Promise<readonly string[]> {
  const at = Math.min(...losses.map((loss) => loss.at))
  const head = (await streamHead(url, office.authorization)).offset
  const events = told.map(({ event }) => event)
  // What was heard and is gone may have been in what is lost; all else is a lie.
  const lies = (await streamFaults(url, office, events)).filter((text) => !text.endsWith('is gone'))
  const gone = told.find((each) => each.at < at && each.event.offset > head)
  const goneText = gone && `${gone.event.type} at ${gone.event.offset} was heard before what is lost, and is gone`
  return [
    ...lies,
    ...(goneText === undefined ? [] : [goneText]),
    ...(await office.faultsAt(at, { port, dataFolder: folder })),
    ...(await resumptionFaults(url, office, { last, head, isEpochLeft: losses.every((loss) => loss.wholeBytes > 0) })),
  ]
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

async function afterRepair(port: number, { last: from }: Whole): Promise<readonly string[]> {
  const url = `http://127.0.0.1:${port}`
  const last = from.offset
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
