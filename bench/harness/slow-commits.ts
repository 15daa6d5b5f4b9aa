import { createRequire } from 'node:module'

/**
 * Loaded into a server before its own program: each commit takes 50 ms longer, as on a disk that is busy or far away. It is
 * written then as it would have been at once.
 */
const laterMs = 50

interface ChainedBatch {
  write(options: object): Promise<void>
}

interface Database {
  batch(...many: readonly unknown[]): ChainedBatch
}

// The class itself, as who imports it later finds it.
const { Level } = createRequire(import.meta.url)('level') as { Level: { prototype: Database } }
const { batch } = Level.prototype

Level.prototype.batch = function slowBatch(this: Database, ...many: readonly unknown[]): ChainedBatch {
  const made = batch.apply(this, [...many])
  // With operations it is written as it is, and is none that could be.
  if (many.length > 0) return made
  const write = made.write.bind(made)
  made.write = async (options) => {
    await new Promise((resolve) => setTimeout(resolve, laterMs))
    return write(options)
  }
  return made
}
