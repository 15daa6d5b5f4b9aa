import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { endingOf } from '#routes/pages/content-coding'
import { isCompressible } from '#routes/pages/page-files'

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
