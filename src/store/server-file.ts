import { createHmac } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * A file in the data folder. A server writes it once it listens, and removes it when it stops. After a crash the file
 * remains until the next server replaces it.
 */
const serverFileName = 'server.json'
const ownerOnly = 0o600

/** 256 bit. */
export const serverKeyBytes = 32

/**
 * The address at which a server listens, and the key with which it proves that it uses the data folder. While the
 * server is down, any user of this machine can listen on its port, and would receive the secrets that a command sends.
 * So a command first sends a challenge, and checks the answer with the key (`proofOf`). Other users do not know the
 * key, because only the owner can read the file.
 */
export interface ServerFile {
  readonly host: string
  readonly port: number
  /** Base64url, created at each start. */
  readonly key: string
}

/** Writes the file, and replaces one that a crashed server left. @throws errors of the file system */
export async function writeServerFile(folder: string, file: ServerFile): Promise<void> {
  const path = join(folder, serverFileName)
  const draft = `${path}.new`
  await rm(draft, { force: true })
  await writeFile(draft, `${JSON.stringify(file)}\n`, { mode: ownerOnly, flag: 'wx' })
  await rename(draft, path)
}

/** Undefined if the file is missing, unreadable or not valid. */
export async function readServerFile(folder: string): Promise<ServerFile | undefined> {
  try {
    const read: unknown = JSON.parse(await readFile(join(folder, serverFileName), 'utf8'))
    return isServerFile(read) ? read : undefined
  } catch {
    return undefined
  }
}

/** Call it when the server stops. @throws errors of the file system */
export async function removeServerFile(folder: string): Promise<void> {
  await rm(join(folder, serverFileName), { force: true })
}

/** The answer that only a holder of the key can compute: RFC 2104 with SHA-256, as Base64url. */
export function proofOf(key: string, challenge: string): string {
  return createHmac('sha256', Buffer.from(key, 'base64url')).update(challenge).digest('base64url')
}

function isServerFile(read: unknown): read is ServerFile {
  if (typeof read !== 'object' || read === null) return false
  const { host, port, key } = read as Partial<Record<keyof ServerFile, unknown>>
  return typeof host === 'string' && typeof port === 'number' && typeof key === 'string' && /^[\w-]{43}$/.test(key)
}
