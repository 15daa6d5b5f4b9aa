import { createHmac } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** In the data folder, while a server runs on it; for its owner only. */
const serverFileName = 'server.json'
const ownerOnly = 0o600

/** 256 bit. */
export const serverKeyBytes = 32

/**
 * Where a server listens, and the key by which it is known there. A port is had by whoever is first, also by other users of
 * the machine; this folder is not. So a command of the same user can ask whoever answers to show that he holds the key,
 * before it tells him one of ours.
 */
export interface ServerFile {
  readonly host: string
  readonly port: number
  /** Base64url, made anew at each start. */
  readonly key: string
}

/** It is there whole, in place of what a server left that died. @throws of the file system */
export async function writeServerFile(folder: string, file: ServerFile): Promise<void> {
  const path = join(folder, serverFileName)
  const draft = `${path}.new`
  await rm(draft, { force: true })
  await writeFile(draft, `${JSON.stringify(file)}\n`, { mode: ownerOnly, flag: 'wx' })
  await rename(draft, path)
}

/** Undefined where there is none, where it may not be read, and where it says something else. */
export async function readServerFile(folder: string): Promise<ServerFile | undefined> {
  try {
    const read: unknown = JSON.parse(await readFile(join(folder, serverFileName), 'utf8'))
    return isServerFile(read) ? read : undefined
  } catch {
    return undefined
  }
}

/** The server ends. @throws of the file system */
export async function removeServerFile(folder: string): Promise<void> {
  await rm(join(folder, serverFileName), { force: true })
}

/** What only a holder of the key can answer. RFC 2104 with SHA-256, as Base64url. */
export function proofOf(key: string, challenge: string): string {
  return createHmac('sha256', Buffer.from(key, 'base64url')).update(challenge).digest('base64url')
}

function isServerFile(read: unknown): read is ServerFile {
  if (typeof read !== 'object' || read === null) return false
  const { host, port, key } = read as Partial<Record<keyof ServerFile, unknown>>
  return typeof host === 'string' && typeof port === 'number' && typeof key === 'string' && /^[\w-]{43}$/.test(key)
}
