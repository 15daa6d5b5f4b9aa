/**
 * What of a log of LevelDB is left, by the lengths that stand in it alone: what is judged reads it by itself.
 */
export interface WrittenLog {
  readonly file: string
  readonly bytes: number
  /** Where each write ends, rising. */
  readonly ends: readonly number[]
}

/** How large each log was at a moment (Unix ms), when no answer was waited for. */
export interface LogMark {
  readonly at: number
  readonly bytes: ReadonlyMap<string, number>
}

export interface LogLoss {
  readonly file: string
  /** Up to there all writes are whole. */
  readonly wholeBytes: number
  /** Of a write that is not, behind them: what an opening leaves out, and must say. */
  readonly tornBytes: number
  /** What was answered or told before had been written in front of it; infinity: nothing is lost. */
  readonly at: number
}

const blockBytes = 32 * 1024
const headBytes = 7
/** The last of its write: a whole one, or its last part. */
const lastKinds = [1, 4]

export function writtenLog(file: string, log: Buffer): WrittenLog {
  const ends: number[] = []
  for (let at = 0; at + headBytes <= log.length; ) {
    const end = at + headBytes + log.readUInt16LE(at + 4)
    if (end > log.length) break
    if (lastKinds.includes(log.readUInt8(at + 6))) ends.push(end)
    at = nextHead(end)
  }
  return { file, bytes: log.length, ends }
}

/** `from`: the first byte that is not as it was, or not there; `bytesLeft`: in the file. */
export function lossOf(
  { file, ends }: WrittenLog,
  { from, bytesLeft }: { readonly from: number; readonly bytesLeft: number },
  marks: readonly LogMark[],
): LogLoss {
  const wholeBytes = ends.findLast((end) => end <= from) ?? 0
  const isLess = wholeBytes < (ends.at(-1) ?? 0)
  const mark = marks.findLast(({ bytes }) => (bytes.get(file) ?? 0) <= wholeBytes)
  return {
    file,
    wholeBytes,
    tornBytes: bytesLeft > nextHead(wholeBytes) ? bytesLeft - wholeBytes : 0,
    at: isLess ? (mark?.at ?? Number.NEGATIVE_INFINITY) : Number.POSITIVE_INFINITY,
  }
}

/** The rest of a block that is too small for a head is filled with zeros. */
function nextHead(end: number): number {
  const left = blockBytes - (end % blockBytes)
  return left < headBytes ? end + left : end
}
