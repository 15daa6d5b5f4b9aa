/**
 * Loaded into a server before its own program: says what its memory holds after everything dead was collected, and lets
 * time pass at once, so that nobody has to wait for what happens after minutes.
 */
export interface MemoryUse {
  /** Objects of JavaScript, and what they hold outside its heap; without `buffers`. */
  readonly heapBytes: number
  /** ArrayBuffers: the stream's ring, first of all. */
  readonly bufferBytes: number
  /** All of the process. */
  readonly residentBytes: number
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
  if (!gc) throw new Error('the probe needs --expose-gc')
  for (let round = 0; round < collections; round++) {
    gc()
    await new Promise((resolve) => setTimeout(resolve, collectionPauseMs))
  }
  const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage()
  const use: MemoryUse = {
    heapBytes: heapUsed + external - arrayBuffers,
    bufferBytes: arrayBuffers,
    residentBytes: rss,
  }
  process.send?.(use)
})
