import { createHash } from 'node:crypto'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'

/** Codings of the built pages, best first: `name.br` and `name.gz` for `name`. RFC 9110 §8.4.1. */
const codings = ['br', 'gzip', 'identity'] as const
export type Coding = (typeof codings)[number]

/** File suffix of each coding. */
const endingOf: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz', identity: '' }

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
function isCompressible(name: string): boolean {
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

/**
 * The best available coding that the client accepts: the smallest first, independent of the client's order, unless the
 * client refuses it. RFC 9110 §12.5.3. If the client accepts none, `identity`: that is more useful than an error.
 */
export function chooseCoding(acceptEncoding: string, isAvailable: (coding: Coding) => boolean): Coding {
  const weights = weightsOf(acceptEncoding)
  const isTaken = (coding: Coding) => (weights.get(coding) ?? weights.get('*') ?? 0) > 0
  return codings.find((coding) => coding !== 'identity' && isAvailable(coding) && isTaken(coding)) ?? 'identity'
}

function weightsOf(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    if (name !== '') weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  return weights
}

/** Smaller files are not compressed, because the headers would outweigh the saving. */
const bytesMin = 1024

const compressors = [
  { ending: endingOf.br, compress: promisify(brotliCompress) as (bytes: Uint8Array) => Promise<Buffer> },
  { ending: endingOf.gzip, compress: (bytes: Uint8Array) => promisify(gzip)(bytes, { level: 9 }) },
]

/**
 * Writes compressed files for the compressible files of a folder, recursively, if they are smaller: with the slowest
 * and best level, because only the build does this. Compressed files newer than their original are not written again;
 * those without an original are removed.
 */
export async function compressFiles(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = new Set(entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name)))
  for (const path of paths) {
    const of = compressors.find(({ ending }) => path.endsWith(ending))
    if (of && !paths.has(path.slice(0, -of.ending.length))) await rm(path)
    if (!of && isCompressible(path)) await compressFile(path, paths)
  }
}

async function compressFile(path: string, existing: ReadonlySet<string>): Promise<void> {
  const { mtimeMs } = await stat(path)
  for (const { ending, compress } of compressors) {
    const compressed = path + ending
    if (existing.has(compressed) && (await stat(compressed)).mtimeMs >= mtimeMs) continue
    const bytes = await readFile(path)
    const smaller = bytes.byteLength < bytesMin ? undefined : await compress(bytes)
    // An outdated compressed file must not stay.
    if (smaller && smaller.byteLength < bytes.byteLength) await writeFile(compressed, smaller)
    else await rm(compressed, { force: true })
  }
}
