import { createHmac } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The file is in the data folder while a server uses the folder. Only its owner can read it. */
const serverFileName = 'server.json'
const ownerOnly = 0o600

/** 256 bit. */
export const serverKeyBytes = 32

/**
 * The address at which a server listens, and the key that proves its identity. Any user of the machine can take a free
 * port, but only the owner can read this folder. So a command of the same user can make the process on that port prove
 * that it has the key, before the command sends it a secret.
 */
export interface ServerFile {
  readonly host: string
  readonly port: number
  /** Base64url, created at each start. */
  readonly key: string
}

/** Writes the whole file, and replaces one left by a server that died. @throws errors of the file system */
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

/** To be called when the server ends. @throws errors of the file system */
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
