import { createRequire } from 'node:module'
import { sleep } from '#bench/time'

/** Loaded into a server before its own program: delays each commit by 50 ms, like a busy or remote disk. */

const laterMs = 50

interface ChainedBatch {
  write(options: object): Promise<void>
}

interface Database {
  batch(...many: readonly unknown[]): ChainedBatch
}

// Later imports get the same class.
const { Level } = createRequire(import.meta.url)('level') as { Level: { prototype: Database } }
const { batch } = Level.prototype

Level.prototype.batch = function slowBatch(this: Database, ...many: readonly unknown[]): ChainedBatch {
  const made = batch.apply(this, [...many])
  // A batch with operations is written at once: only chained batches are delayed.
  if (many.length > 0) return made
  const write = made.write.bind(made)
  made.write = async (options) => {
    await sleep(laterMs)
    return write(options)
  }
  return made
}
