import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writtenLog } from '#bench/proof/tails/log-loss'
import { SeededRandom } from '#bench/random'

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

/** `faultsEach`: of each kind, of each file. */
export function faultsOf(
  database: string,
  { seed, faultsEach }: { readonly seed: number; readonly faultsEach: number },
): readonly TailFault[] {
  const random = new SeededRandom(seed + 1)
  return readdirSync(database)
    .filter((name) => /^(\d+\.(ldb|log)|MANIFEST-\d+|CURRENT)$/.test(name))
    .flatMap((file) => {
      const bytes = readFileSync(join(database, file))
      const { length } = bytes
      const tail = Math.min(length, tailBytes)
      const records = file.endsWith('.ldb') || file === 'CURRENT' ? [] : writtenLog(file, bytes).ends
      // A manifest is as whole as it was before its last records then.
      const between = file.startsWith('MANIFEST') ? records.slice(0, -1).map((end) => length - end) : []
      const cuts = [1, tail, length, ...between, ...Array.from({ length: faultsEach }, () => 1 + random.below(tail))]
      const flips = Array.from({ length: faultsEach }, () => length - 1 - random.below(tail))
      // Where the length of a write stands.
      const lengths = records.slice(-1 - faultsEach, -1).map((end) => end + 4 + random.below(2))
      const deep = file.endsWith('.ldb') ? Array.from({ length: faultsEach }, () => random.below(length)) : []
      return [
        gone(file),
        inPlaceOf(file),
        ...cuts.filter((bytes) => bytes <= length && length > 0).map((bytes) => cutOff(file, bytes, length)),
        ...[...flips, ...lengths]
          .filter((at) => at >= 0 && at < length)
          .map((at) => flipped(file, at, 1 << random.below(8), length, false)),
        ...deep.map((at) => flipped(file, at, 1 << random.below(8), length, true)),
      ]
    })
}

/** Of one file, each kind once. */
export function faultsOfFile(file: string, length: number): readonly TailFault[] {
  const half = Math.floor(length / 2)
  return [
    gone(file),
    inPlaceOf(file),
    cutOff(file, length, length),
    cutOff(file, length - half, length),
    flipped(file, half, 4, length, true),
  ]
}

function gone(file: string): TailFault {
  return { file, said: 'taken away', isDeep: false, from: 0, bytesLeft: 0, damage: (path) => rmSync(path) }
}

function inPlaceOf(file: string): TailFault {
  const damage = (path: string) => {
    rmSync(path)
    mkdirSync(path)
  }
  return { file, said: 'a folder in its place', isDeep: false, from: 0, bytesLeft: 0, damage }
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
