import { readFileSync } from 'node:fs'
import { getHeapCodeStatistics, getHeapSpaceStatistics } from 'node:v8'

/**
 * Loaded into a server before its own program: says what its memory holds after everything dead was collected, and lets
 * time pass at once, so that nobody has to wait for what happens after minutes.
 */
export interface MemoryUse {
  /** Objects of JavaScript, and what they hold outside its heap; without `buffers`. */
  readonly heapBytes: number
  /** Of them, what V8 made of the program's text: more for hours, as ever more of it runs often. */
  readonly codeBytes: number
  /** ArrayBuffers: the stream's ring, first of all. */
  readonly bufferBytes: number
  /**
   * All that the process holds for itself. Not what it shares with the page cache: LevelDB maps its files, and how much
   * of them is there says how much was written and read, and nothing of who needs it. Nor V8's young generation: see below.
   */
  readonly residentBytes: number
  /**
   * The room of V8's young generation. After the collections nothing is in it; whether it keeps its room, up to three
   * times the semi-space, or gives it back depends on how quiet the last five seconds were.
   */
  readonly youngBytes: number
  /** Of all that the process holds for itself, what does not stand in V8's heaps: of native code, and buffers. */
  readonly nativeBytes: number
}

export type ProbeQuestion =
  | { readonly type: 'memory' }
  /** Forward, as the monotonic clock has it. */
  | { readonly type: 'pass'; readonly ms: number }

/** What is freed in one collection can free something else in the next: buffers, weak references. */
const collections = 4
const collectionPauseMs = 50

const { gc } = globalThis as { gc?: () => void }
const clock = performance.now.bind(performance)
let passedMs = 0

performance.now = () => clock() + passedMs

process.on('message', async (question: ProbeQuestion) => {
  if (question.type === 'pass') {
    passedMs += question.ms
    process.send?.({})
    return
  }
  // Its own child, which passwords are hashed in, has this loaded too, and is asked other things.
  if (question.type !== 'memory') return
  if (!gc) throw new Error('the probe needs --expose-gc')
  for (let round = 0; round < collections; round++) {
    gc()
    await new Promise((resolve) => setTimeout(resolve, collectionPauseMs))
  }
  const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage()
  const ownBytes = anonymousBytes() ?? rss
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

function anonymousBytes(): number | undefined {
  try {
    const found = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))
    return found ? Number(found[1]) * 1024 : undefined
  } catch {
    return undefined
  }
}

function roomOf(isMeant: (space: string) => boolean): number {
  return getHeapSpaceStatistics()
    .filter(({ space_name }) => isMeant(space_name))
    .reduce((bytes, { physical_space_size }) => bytes + physical_space_size, 0)
}
