import { createCipheriv } from 'node:crypto'
import { open, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { StorageBackend } from '#runtime/storage'
import { failureFrom } from '#store/failure'
import { isMissing, statOf } from '#store/file-system'

/** The file is written in steps of this size, so that no single write holds a thread of the pool for long. */
const stepBytes = 1024 * 1024

/**
 * Disk space reserved by a file. After a failed write, the file is deleted before the store is reopened, because the
 * opening needs space: LevelDB writes its log out as tables, and a manifest.
 *
 * Calls run one at a time, in order. `hasRoom`: whether `roomBytes` are free in addition to the headroom; space that
 * only root may use does not count. `restoreHeadroom`: without enough space, or if the disk refuses, less space is reserved.
 * `headroomBytes` 0 turns the file off: `restoreHeadroom` then removes a file left by an earlier configuration.
 */
export function headroomIn(
  folder: string,
  headroomBytes: number,
  roomBytes: number,
): Pick<StorageBackend, 'hasRoom' | 'releaseHeadroom' | 'restoreHeadroom'> {
  const file = join(folder, 'headroom')
  let last: Promise<unknown> = Promise.resolve()

  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    const done = last.then(task)
    last = done.catch(() => undefined)
    return done.catch((error) => {
      throw failureFrom(error, folder)
    })
  }

  async function restore(): Promise<void> {
    const heldBytes = await fileBytes(file)
    if (headroomBytes === 0 || heldBytes > headroomBytes) await rm(file, { force: true })
    const startBytes = heldBytes > headroomBytes ? 0 : heldBytes
    const missingBytes = headroomBytes - startBytes
    // Half of `roomBytes`: a write between a check by `hasRoom` and this call must not prevent the headroom for good.
    // Some space must stay: a headroom that fills the disk would cause the failure it protects against.
    if (missingBytes <= 0 || (await freeBytes(folder)) - missingBytes < roomBytes / 2) return
    try {
      await fill(file, startBytes, headroomBytes)
    } catch (error) {
      await rm(file, { force: true })
      throw error
    }
  }

  return {
    hasRoom: () => inTurn(async () => (await freeBytes(folder)) + (await fileBytes(file)) >= roomBytes + headroomBytes),
    releaseHeadroom: () => inTurn(() => rm(file, { force: true })),
    restoreHeadroom: () => inTurn(restore).catch(() => undefined),
  }
}

/**
 * Appends until the file has `endBytes`. No fsync: the file system has assigned the blocks once `write` returns, and an
 * fsync of 64 MiB would delay the store's own.
 */
async function fill(file: string, startBytes: number, endBytes: number): Promise<void> {
  const step = incompressible(Math.min(stepBytes, endBytes))
  const handle = await open(file, 'a', 0o600)
  try {
    for (let atBytes = startBytes; atBytes < endBytes; ) {
      const { bytesWritten } = await handle.write(step, 0, Math.min(step.length, endBytes - atBytes))
      atBytes += bytesWritten
    }
  } finally {
    await handle.close()
  }
}

/** A compressing file system (btrfs, ZFS) stores almost nothing for zeros, so they are encrypted. */
function incompressible(byteCount: number): Uint8Array {
  return createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(byteCount))
}

async function fileBytes(file: string): Promise<number> {
  return (await statOf(file))?.size ?? 0
}

/** Works before the folder exists: the folder will be on the file system of its nearest ancestor. */
export async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch (error) {
    if (isMissing(error) && dirname(folder) !== folder) return freeBytes(dirname(folder))
    throw error
  }
}
