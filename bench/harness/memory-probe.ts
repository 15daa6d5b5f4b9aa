import { getHeapCodeStatistics, getHeapSpaceStatistics } from 'node:v8'
import { processUsage } from '#bench/process-usage'
import { sleep } from '#bench/time'

/**
 * Loaded into a server before its own program. Reports its memory after garbage collections, and moves its clock
 * forward, so that work that is due in some minutes happens at once.
 */

export interface MemoryUse {
  /** JavaScript objects and the memory that they own outside of the heap, without `bufferBytes`. */
  readonly heapBytes: number
  /** The part for compiled code: V8 adds more for hours, as it optimizes more functions. */
  readonly codeBytes: number
  /** ArrayBuffers: mainly the ring of the stream. */
  readonly bufferBytes: number
  /**
   * Private memory of the process. It excludes the page cache: LevelDB maps its files, and how much of them is resident
   * depends on reads and writes, not on need. It also excludes V8's young generation, see `youngBytes`.
   */
  readonly residentBytes: number
  /**
   * The size of V8's young generation. It is empty after the collections; whether V8 keeps its up to three semi-spaces
   * or releases them depends on the last five seconds.
   */
  readonly youngBytes: number
  /** Private memory outside of V8's heaps: native code and buffers. */
  readonly nativeBytes: number
}

export type ProbeMessage = { readonly type: 'memory' } | { readonly type: 'pass'; readonly ms: number }

/** Several, because the objects that one collection frees can release more in the next: buffers, weak references. */
const collections = 4
const collectionPauseMs = 50

const { gc } = globalThis as { gc?: () => void }
const clock = performance.now.bind(performance)
let passedMs = 0

performance.now = () => clock() + passedMs

process.on('message', async (question: ProbeMessage) => {
  if (question.type === 'pass') {
    passedMs += question.ms
    process.send?.({})
    return
  }
  // The child process that hashes passwords loads this, too, and receives other messages.
  if (question.type !== 'memory') return
  if (!gc) throw new Error('the probe needs --expose-gc')
  for (let round = 0; round < collections; round++) {
    gc()
    await sleep(collectionPauseMs)
  }
  const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage()
  const ownBytes = processUsage(process.pid)?.anonymousBytes ?? rss
  const youngBytes = roomOf((space) => space === 'new_space')
  const code = getHeapCodeStatistics()
  const use: MemoryUse = {
    heapBytes: heapUsed + external - arrayBuffers,
    codeBytes: code.code_and_metadata_size + code.bytecode_and_metadata_size,
    bufferBytes: arrayBuffers,
    residentBytes: ownBytes - youngBytes,
    youngBytes,
    nativeBytes: ownBytes - roomOf(() => true),
  }
  process.send?.(use)
})

function roomOf(isMeant: (space: string) => boolean): number {
  return getHeapSpaceStatistics()
    .filter(({ space_name }) => isMeant(space_name))
    .reduce((bytes, { physical_space_size }) => bytes + physical_space_size, 0)
}
