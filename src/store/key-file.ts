import { chmod, link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { keyFileName } from '#store/backup/format'
import { failureFrom } from '#store/failure'
import { syncFolder } from '#store/file-system'

const keyBytes = 32
const ownerOnly = 0o600

export interface KeyFile {
  readonly bytes: Uint8Array
  /** Whether this call created the file. */
  readonly isNew: boolean
  /** For the log: wrong file permissions, and whether they could be corrected. */
  readonly warning?: string
}

/** Thrown when there is no usable key. The message gives the reason and the remedy. */
export abstract class KeyFileFailure extends Error {}

/** The file is missing, though the store holds data made with it. */
export class KeyFileMissing extends KeyFileFailure {
  constructor(file: string) {
    super(
      `${file} is missing, and the accounts in this folder can't be used without it: restore it from the backup that ` +
        'the folder came from (a new key would end every session, and make second factors and signing keys unreadable)',
    )
    this.name = 'KeyFileMissing'
  }
}

/** The file is not a valid key. It is left as it is. */
export class KeyFileDamaged extends KeyFileFailure {
  constructor(file: string) {
    super(`${file} is not a valid key (${keyBytes} bytes as Base64url): restore it from a backup`)
    this.name = 'KeyFileDamaged'
  }
}

export interface KeyFileOptions {
  random(byteCount: number): Uint8Array
  /** The store holds data made with a key, so no new key may be made. */
  readonly isNeeded: boolean
}

/**
 * Reads the key file next to the database: `identity.key`, 32 bytes as Base64url, readable by its owner only. If there
 * is none, it creates one, and the folder if needed. When the promise is fulfilled, the file survives a power failure.
 * @throws KeyFileMissing, KeyFileDamaged, StorageFailure
 */
export async function readOrMakeKeyFile(folder: string, { random, isNeeded }: KeyFileOptions): Promise<KeyFile> {
  const file = join(folder, keyFileName)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const found = await read(file)
    if (found === undefined && isNeeded) throw new KeyFileMissing(file)
    const created = found === undefined ? await make(file, random) : undefined
    const text = found ?? (await read(file))
    const bytes = keyOf(text ?? '')
    if (!bytes) throw new KeyFileDamaged(file)
    // Also for an existing file: the process that created it may have died before its sync.
    await syncFolder(folder)
    const warning = await restrictAccess(file)
    return { bytes, isNew: created === text, ...(warning !== undefined && { warning }) }
  } catch (error) {
    if (error instanceof KeyFileFailure) throw error
    throw failureFrom(error, folder)
  }
}

/**
 * The content of the file; undefined if there is none.
 * @throws KeyFileDamaged, StorageFailure
 */
export async function readKeyFile(folder: string): Promise<Uint8Array | undefined> {
  const file = join(folder, keyFileName)
  try {
    const text = await read(file)
    if (text !== undefined && !keyOf(text)) throw new KeyFileDamaged(file)
    return text === undefined ? undefined : Buffer.from(text, 'latin1')
  } catch (error) {
    if (error instanceof KeyFileFailure) throw error
    throw failureFrom(error, folder)
  }
}

/**
 * Creates the file whole or not at all, and does not replace one: two processes may start at the same moment. (On a
 * file system without hard links, the second process replaces the file.)
 */
async function make(file: string, random: KeyFileOptions['random']): Promise<string> {
  const text = `${Buffer.from(random(keyBytes)).toString('base64url')}\n`
  const draft = `${file}.${Buffer.from(random(6)).toString('base64url')}`
  try {
    await writeFile(draft, text, { flag: 'wx', mode: ownerOnly, flush: true })
    await publish(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
  return text
}

async function publish(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    // A file system without hard links.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(codeOf(error))) throw error
    await rename(draft, file)
  }
}

async function read(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'latin1')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    // A folder has this name; it holds no key either.
    if (codeOf(error) === 'EISDIR') return ''
    throw error
  }
}

function keyOf(text: string): Uint8Array | undefined {
  if (!/^[\w-]{43}\r?\n?$/.test(text)) return undefined
  return new Uint8Array(Buffer.from(text.trimEnd(), 'base64url'))
}

/** Removes the access of other users. Returns a warning if they had any. */
async function restrictAccess(file: string): Promise<string | undefined> {
  const before = await modeOf(file)
  if ((before & 0o077) === 0) return undefined
  await chmod(file, ownerOnly).catch(() => undefined)
  const found = `${file} was open to other users of this machine (mode ${before.toString(8)})`
  return ((await modeOf(file)) & 0o077) === 0
    ? `${found}; it is closed to them now. Any user who has read it can forge sessions`
    : `${found}, and could not be closed to them: any user who reads it can forge sessions`
}

async function modeOf(file: string): Promise<number> {
  return (await stat(file)).mode & 0o777
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
