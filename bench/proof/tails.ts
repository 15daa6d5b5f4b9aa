import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Dashboard } from '#bench/dashboard'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { ProofApi } from '#bench/proof/clerks/proof-api'
import { openLeft } from '#bench/proof/left-folder'
import { besideFaults } from '#bench/proof/tails/beside'
import { faultsOf, type TailFault } from '#bench/proof/tails/fault'
import { judge, type Verdict } from '#bench/proof/tails/judgement'
import { rowsLost } from '#bench/proof/tails/kept-rows'
import { leave, type Whole } from '#bench/proof/tails/whole'
import { checkDatabase } from '#store/level-files/check'
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
  /** Done to what lies beside the database, and said. */
  readonly beside: number
  readonly problems: readonly string[]
}

const problemsMax = 5

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
      const fallen = await withDamaged(fault, `${state}-repaired`, whole, (copy) => repairFaults(fault, copy, whole))
      problems.push(...fallen.map((text) => `${fault.file}, ${fault.said}: after its repair ${text}`))
      if (fallen.length === 0) repaired++
    }
    const beside = besideFaults(whole).filter(({ file }) => options.trial?.files.test(file) ?? true)
    for (const { file, said, damage, judge } of beside) {
      const state = join(folder.path, 'state-beside')
      cpSync(whole.dataFolder, state, { recursive: true })
      damage(state)
      const problem = await judge(state, whole)
      if (problem !== undefined) problems.push(`${file}, ${said}: ${problem}`)
      rmSync(state, { recursive: true, force: true })
    }
    return {
      seconds: (performance.now() - startedAt) / 1000,
      files: new Set(faults.map(({ file }) => file)).size,
      faults: faults.length,
      ...counts,
      repaired,
      beside: beside.length,
      problems,
    }
  } finally {
    await folder.remove()
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

/** What is wrong with what a repair makes of it: it must open, take writes, and be nothing that anybody resumes over. */
async function repairFaults({ file }: TailFault, state: string, whole: Whole): Promise<readonly string[]> {
  const found = await repairFolder({ folder: state, name: 'proof', isForced: false }).catch((error: Error) => error)
  if (found instanceof Error) return [`it is not mended: ${found.stack}`]
  if (found.keptIn === undefined) return ['nothing was found to mend']
  if (!readdirSync(state).includes(found.keptIn)) return ['the damaged one is not kept']
  const { damage } = await checkDatabase(join(state, 'db'), 'whole')
  if (damage.length > 0) return damage
  if (/^(CURRENT|MANIFEST)/.test(file)) {
    // All rows are in other files.
    const lost = await rowsLost(join(whole.dataFolder, 'db'), join(state, 'db'))
    if (lost.length > 0) return [`${lost.length} rows are lost, such as ${lost[0]}`]
  }
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
