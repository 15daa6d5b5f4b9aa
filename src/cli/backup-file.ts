import { once } from 'node:events'
import { type FileHandle, link, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { realWorld } from '#app/world'
import { Refusal } from '#cli/exit-codes'
import type { TemporaryFiles } from '#cli/temporary-files'
import { type BackupEnd, BackupError } from '#store/backup/format'
import { readBackup } from '#store/backup/records'
import { syncFolder } from '#store/file-system'

/** For the owner only, because a backup contains all secrets. */
const ownerOnly = 0o600

/** The file name that means standard input or standard output. */
export const pipe = '-'

export interface WrittenBackup {
  readonly end: BackupEnd
  /** The size of the backup. */
  readonly bytes: number
}

/**
 * Writes a backup to a new file. Does not begin if the file exists or cannot be created. The file gets its name only
 * after the backup was read completely and is on the disk. The temporary name is always removed.
 *
 * @throws Refusal, and the errors of the source
 */
export async function writeBackup(
  file: string,
  temporaryFiles: TemporaryFiles,
  begin: () => Promise<AsyncIterable<Uint8Array>>,
): Promise<WrittenBackup> {
  const path = resolve(file)
  await requireAbsent(path)
  const draft = `${path}.${Buffer.from(realWorld.random(6)).toString('base64url')}.part`
  return temporaryFiles.while(draft, async () => {
    const handle = await openDraft(draft)
    try {
      const saved = await readChecked(await begin(), (piece) => handle.appendFile(piece))
      await handle.sync()
      await publish(draft, path)
      await syncFolder(dirname(path))
      return saved
    } catch (error) {
      throw refusalFrom(error, path)
    } finally {
      await handle.close()
    }
  })
}

/** Writes a backup to a stream, and checks that it is complete. @throws Refusal, and the errors of the source */
export async function pipeBackup(out: Writable, bytes: AsyncIterable<Uint8Array>): Promise<WrittenBackup> {
  try {
    return await readChecked(bytes, async (piece) => {
      if (out.write(piece)) return
      await once(out, 'drain')
    })
  } catch (error) {
    throw refusalFrom(error, 'standard output')
  }
}

/** @throws Refusal */
export async function* readInput(file: string, input: Readable): AsyncGenerator<Uint8Array> {
  try {
    if (file === pipe) {
      yield* input as AsyncIterable<Uint8Array>
      return
    }
    const handle = await open(file, 'r')
    yield* handle.createReadStream() as AsyncIterable<Uint8Array>
  } catch (error) {
    throw refusalFrom(error, file)
  }
}

/** The error to show: errors of the store and of the file system become a `Refusal`, which is shown without a stack. */
export function refusalFrom(error: unknown, what: string): unknown {
  if (error instanceof BackupError) return new Refusal(error.message)
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error
  if (/^E[A-Z]+$/.test(error.code)) {
    const advice = /ENOSPC|EDQUOT/.test(error.code) ? ': free some disk space' : ''
    return new Refusal(`${what}: ${error.message}${advice}`)
  }
  return error.name === 'StorageFailure' ? new Refusal(error.message) : error
}

async function readChecked(
  source: AsyncIterable<Uint8Array>,
  store: (piece: Uint8Array) => Promise<void>,
): Promise<WrittenBackup> {
  let bytes = 0
  async function* copied() {
    for await (const piece of source) {
      await store(piece)
      bytes += piece.byteLength
      yield piece
    }
  }
  let end: BackupEnd | undefined
  for await (const item of readBackup(copied())) if (item.kind === 'end') end = item.end
  if (!end) throw new Error('a backup without an end was read as whole')
  return { end, bytes }
}

async function openDraft(draft: string): Promise<FileHandle> {
  try {
    return await open(draft, 'wx', ownerOnly)
  } catch (error) {
    throw refusalFrom(error, draft)
  }
}

async function requireAbsent(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found) throw alreadyExists(path)
}

/** Fails if the file was created meanwhile. */
async function publish(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'EEXIST') throw alreadyExists(path)
    // The file system has no hard links.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code)) throw error
    await renameExclusively(draft, path)
  }
}

/** Creates an empty file of this name first, and fails if the name exists. The rename then replaces the empty file. */
async function renameExclusively(draft: string, path: string): Promise<void> {
  try {
    await (await open(path, 'wx', ownerOnly)).close()
  } catch (error) {
    throw error instanceof Error && 'code' in error && error.code === 'EEXIST' ? alreadyExists(path) : error
  }
  try {
    await rename(draft, path)
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
}

function alreadyExists(path: string): Refusal {
  return new Refusal(`${path} already exists: a backup overwrites no file`)
}
