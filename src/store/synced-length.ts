import { constants, type FileHandle, open } from 'node:fs/promises'
import { isMissing } from '#store/missing'

/** A length and an end of line. */
const rowBytes = 16
/** More rows than power losses can have left unreadable one behind the other. */
const rowsRead = 64

/**
 * How much of a file is on the disk, in a file beside it: rows of one length each, and the last one that can be read counts.
 * A power loss may leave the last one cut off, or nothing but zeros of it.
 */
export async function syncedLength(path: string): Promise<number> {
  let file: FileHandle | undefined
  try {
    file = await open(path, 'r')
    const { size } = await file.stat()
    const from = Math.max(0, startOfRow(size) - rowsRead * rowBytes)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(rowsRead * rowBytes), 0, rowsRead * rowBytes, from)
    const rows = buffer.toString('latin1', 0, bytesRead).match(/.{16}/gs) ?? []
    return Number(rows.findLast((row) => /^\d{15}\n$/.test(row)) ?? 0)
  } catch (error) {
    if (isMissing(error)) return 0
    throw error
  } finally {
    await file?.close()
  }
}

/** Of a file whose first `bytes` are on the disk. When this comes back, so is that. */
export async function saySynced(path: string, bytes: number): Promise<void> {
  const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  try {
    const { size } = await file.stat()
    await file.write(`${String(bytes).padStart(rowBytes - 1, '0')}\n`, startOfRow(size), 'latin1')
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** What is cut off is written over. */
function startOfRow(size: number): number {
  return size - (size % rowBytes)
}
