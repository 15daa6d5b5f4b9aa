import type { World } from '#runtime/world'

/** The messages that the log has. */
export interface LogExtent {
  /** The first message that the log still has. */
  readonly first: number
  readonly last: number
  readonly messages: number
  readonly bytes: number
}

export interface LogTrimOptions {
  readonly world: World
  readonly isOwner: () => boolean
  /** The last message that each known node has stored. */
  readonly positions: () => readonly number[]
  readonly log: {
    extent(): Promise<LogExtent>
    /** Deletes all messages before this one. */
    trim(before: number): Promise<void>
  }
  /** Called when messages could not be deleted. Another attempt follows. */
  readonly failed: (error: unknown) => void
}

const trimEveryMs = 10_000
/** The limit of the log. A node that lacks earlier messages fetches an image instead. */
const logBytesMax = 4 * 1024 * 1024 * 1024

/**
 * Deletes, at intervals, the messages of the log that every known node has stored. When a node starts, it reads again the
 * last message that it stored, so this message is kept, and so is the last message of the log. If the log is larger than
 * `logBytesMax`, the oldest messages are deleted, too; nodes that lack them fetch an image. Returns a function that ends
 * this.
 */
export function trimLog(options: LogTrimOptions): () => void {
  const { world, isOwner, positions, log, failed } = options
  let cancel: (() => void) | undefined
  const trim = async () => {
    if (!isOwner()) return
    const extent = await log.extent()
    const first = firstKept(positions(), extent, logBytesMax)
    if (first > extent.first) await log.trim(first)
  }
  const trimLater = () => {
    cancel = world.after(trimEveryMs, async () => {
      await trim().catch(failed)
      if (cancel) trimLater()
    })
  }
  trimLater()
  return () => {
    cancel?.()
    cancel = undefined
  }
}

/** The first message that has to stay. */
export function firstKept(positions: readonly number[], extent: LogExtent, bytesMax: number): number {
  const { first, last, messages, bytes } = extent
  const slowest = Math.min(last, ...positions)
  const kept = bytes > bytesMax ? Math.floor((messages * bytesMax) / bytes) : messages
  return Math.max(first, slowest, Math.min(last, last + 1 - kept))
}
