import { chmod, link, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { keyFileName } from '#store/backup/form'
import { failureFrom } from '#store/failure'
import { syncFolder } from '#store/sync-folder'

const keyBytes = 32
const ownerOnly = 0o600

export interface KeyFile {
  readonly bytes: Uint8Array
  /** Made just now. */
  readonly isNew: boolean
  /** For the log: what was found wrong and put right, if it could be. */
  readonly warning?: string
}

/** Why there is no key, and what to do, for people. */
export abstract class KeyFileFailure extends Error {}

/** The file is not there, though the store holds what was made with it. */
export class KeyFileMissing extends KeyFileFailure {
  constructor(file: string) {
    super(
      `${file} is missing, and the accounts in this folder can't be used without it: restore it from the backup that ` +
        'the folder came from (a new one would end every session, and make second factors and signing keys unreadable)',
    )
    this.name = 'KeyFileMissing'
  }
}

/** Something else is there. It is left as it is. */
export class KeyFileDamaged extends KeyFileFailure {
  constructor(file: string) {
    super(`${file} holds no key (${keyBytes} bytes as Base64url): restore it from a backup`)
    this.name = 'KeyFileDamaged'
  }
}

export interface KeyFileOptions {
  random(byteCount: number): Uint8Array
  /** The store holds what was made with a key: none is made in its place. */
  readonly isNeeded: boolean
}

/**
 * The key beside the database: `identity.key`, 32 bytes as Base64url, for its owner only. It is read, or made where there
 * is none yet; when this is fulfilled it survives the death of the machine. The folder is made if it is not there.
 * @throws KeyFileMissing, KeyFileDamaged, StorageFailure
 */
export async function readOrMakeKeyFile(folder: string, { random, isNeeded }: KeyFileOptions): Promise<KeyFile> {
  const file = join(folder, keyFileName)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const found = await read(file)
    if (found === undefined && isNeeded) throw new KeyFileMissing(file)
    const made = found === undefined ? await make(file, random) : undefined
    const text = found ?? (await read(file))
    const bytes = keyOf(text ?? '')
    if (!bytes) throw new KeyFileDamaged(file)
    // Also of one that was found: who made it may have died before this.
    await syncFolder(folder)
    const warning = await keepFromOthers(file)
    return { bytes, isNew: made === text, ...(warning !== undefined && { warning }) }
  } catch (error) {
    if (error instanceof KeyFileFailure) throw error
    throw failureFrom(error, folder)
  }
}

/**
 * The file as it is; undefined where there is none.
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

/** It is there whole or not at all, and never in the place of another: two processes may begin at the same moment. */
async function make(file: string, random: KeyFileOptions['random']): Promise<string> {
  const text = `${Buffer.from(random(keyBytes)).toString('base64url')}\n`
  const draft = `${file}.${Buffer.from(random(6)).toString('base64url')}`
  try {
    const handle = await open(draft, 'wx', ownerOnly)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
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
    // A folder, which holds no key either.
    if (codeOf(error) === 'EISDIR') return ''
    throw error
  }
}

function keyOf(text: string): Uint8Array | undefined {
  if (!/^[\w-]{43}\r?\n?$/.test(text)) return undefined
  return new Uint8Array(Buffer.from(text.trimEnd(), 'base64url'))
}

/** What to say when others may read or change it. */
async function keepFromOthers(file: string): Promise<string | undefined> {
  const before = await modeOf(file)
  if ((before & 0o077) === 0) return undefined
  await chmod(file, ownerOnly).catch(() => undefined)
  const found = `${file} was open to other users of this machine (mode ${before.toString(8)})`
  return ((await modeOf(file)) & 0o077) === 0
    ? `${found}; it is not any more. Whoever may have read it can forge sessions`
    : `${found}, and could not be closed to them: whoever reads it can forge sessions`
}

async function modeOf(file: string): Promise<number> {
  return (await stat(file)).mode & 0o777
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
