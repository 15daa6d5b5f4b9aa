import { join } from 'node:path'
import { streamHead } from '#bench/dashboard'
import { openLeft, streamFaults } from '#bench/proof/left-folder'
import type { TailFault } from '#bench/proof/tails/fault'
import { type LogLoss, lossOf } from '#bench/proof/tails/log-loss'
import { redoFaults } from '#bench/proof/tails/redo-faults'
import { resumptionFaults } from '#bench/proof/tails/resumption'
import type { Whole } from '#bench/proof/tails/whole'
import { checkDatabase } from '#store/level-files/check'

export type Verdict = 'refused' | 'warned' | 'unharmed' | 'cutBetween' | 'foundWhole'

/** Opens a damaged folder, and holds what is there against what was said and what was known before. */
export async function judge(
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
  // What was heard later may be gone, and its offset given again: to what falls due as soon as it is opened.
  const events = told.filter((each) => each.at < at).map(({ event }) => event)
  const left = events.reduce((most, { offset }) => Math.max(most, offset), office.first.offset)
  return [
    ...(await streamFaults(url, office, events)),
    ...(await office.faultsAt(at, { port, dataFolder: folder })),
    ...(await resumptionFaults(url, office, {
      last,
      head,
      left,
      isEpochLeft: losses.every((loss) => loss.wholeBytes > 0),
    })),
  ]
}
