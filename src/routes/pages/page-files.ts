import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { type Coding, codings, endingOf } from '#routes/pages/content-coding'

/** One file for browsers, in memory. */
export interface PageFile {
  /** `Content-Type`. */
  readonly type: string
  /** The bytes of the file in each available coding; `identity` always exists. */
  readonly bytes: ReadonlyMap<Coding, Uint8Array>
  /** The hash of the content before coding: 22 characters. */
  readonly digest: string
}

/** Files by their path below the folder, with slashes. */
export type PageFiles = ReadonlyMap<string, PageFile>

/** Served file types; other files are ignored. */
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/** Whether compression may help; other types are compressed already. */
export function isCompressible(name: string): boolean {
  return ['.html', '.css', '.js', '.json', '.svg', '.webmanifest', '.txt'].includes(extname(name))
}

/**
 * Reads the built pages once, some megabytes together: no request path ever reaches the disk. Empty if the folder does
 * not exist, as when the server runs from its sources.
 */
export async function readPageFiles(folder: string): Promise<PageFiles> {
  const files = new Map<string, PageFile>()
  for (const name of (await namesIn(folder)).sort()) {
    const type = types[extname(name)]
    if (type === undefined) continue
    const bytes = new Map<Coding, Uint8Array>()
    for (const coding of codings) {
      const found = await readIfThere(join(folder, name) + endingOf[coding])
      if (found) bytes.set(coding, found)
    }
    const whole = bytes.get('identity')
    if (!whole) continue
    const digest = createHash('sha256').update(whole).digest('base64url').slice(0, 22)
    files.set(name.split(sep).join('/'), { type, bytes, digest })
  }
  return files
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(noneIfMissing)
  return (entries ?? [])
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length)
        .replace(/^[\\/]+/, ''),
    )
}

function readIfThere(path: string): Promise<Uint8Array | undefined> {
  return readFile(path).catch(noneIfMissing)
}

function noneIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
