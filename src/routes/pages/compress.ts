import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { endingOf } from '#routes/pages/content-coding'
import { isCompressible } from '#routes/pages/page-files'

/** Below this the headers weigh more. */
const bytesMin = 1024

const made = [
  { ending: endingOf.br, compress: promisify(brotliCompress) as (bytes: Uint8Array) => Promise<Buffer> },
  { ending: endingOf.gzip, compress: (bytes: Uint8Array) => promisify(gzip)(bytes, { level: 9 }) },
]

/**
 * Puts beside each file of a folder, as deep as it goes, what it is when compressed; the slow way, as it is done once.
 * What is newer than its file is left as it is, what has lost its file is taken away.
 */
export async function compressFiles(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = new Set(entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name)))
  for (const path of paths) {
    const of = made.find(({ ending }) => path.endsWith(ending))
    if (of && !paths.has(path.slice(0, -of.ending.length))) await rm(path)
    if (!of && isCompressible(path)) await compressFile(path, paths)
  }
}

async function compressFile(path: string, there: ReadonlySet<string>): Promise<void> {
  const { mtimeMs } = await stat(path)
  for (const { ending, compress } of made) {
    const beside = path + ending
    if (there.has(beside) && (await stat(beside)).mtimeMs >= mtimeMs) continue
    const bytes = await readFile(path)
    const smaller = bytes.byteLength < bytesMin ? undefined : await compress(bytes)
    // An older one must not stay beside a file that it is not.
    if (smaller && smaller.byteLength < bytes.byteLength) await writeFile(beside, smaller)
    else await rm(beside, { force: true })
  }
}
