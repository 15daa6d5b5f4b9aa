import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import type { SeededRandom } from '#bench/random'

/**
 * A possible disk content after a power loss. The model is ext4 with `data=ordered`, or slightly weaker:
 *
 * - Names (created, renamed, removed) become durable in the order of the calls; the last ones may be missing.
 * - `fsync` of a file makes its content and its name durable; `fsync` of a folder the names in it. ext4 gives more: it
 *   writes all earlier names as well.
 * - Data written since a file's last `fsync` may be there, be missing, be cut anywhere, or contain pages of zeros.
 * - A file that replaces another by `rename` is whole when its new name is durable (`auto_da_alloc`).
 */
export interface DiskState {
  readonly folders: readonly string[]
  readonly files: ReadonlyMap<string, Uint8Array>
}

const pageBytes = 4096

/** One of the possible states after these operations. */
export function diskStateAfter(done: readonly FileOperation[], random: SeededRandom): DiskState {
  const names = done.flatMap(({ kind }, place) => (kind === 'name' ? [place] : []))
  const floor = durableNames(done)
  const isLoose = names.filter((place) => place >= floor)
  // Nothing, everything, or a random number: so each of the extremes is as frequent as all other states together.
  const keep = random.pick([0, isLoose.length, random.below(isLoose.length + 1)]) ?? 0
  const lastName = isLoose[keep - 1] ?? floor - 1
  const tree = treeAfter(done, lastName)
  const files = new Map<string, Uint8Array>()
  const contents = new Map<number, Uint8Array>()
  for (const [path, file] of tree.files) {
    const bytes = contents.get(file) ?? contentOf(done, file, tree.wholeUpTo.get(file) ?? 0, random)
    contents.set(file, bytes)
    files.set(path, bytes)
  }
  return { folders: [...tree.folders], files }
}

/** Writes the disk state into an empty folder. */
export function layOut({ folders, files }: DiskState, folder: string): void {
  for (const path of folders) mkdirSync(join(folder, path), { recursive: true, mode: 0o700 })
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, path), bytes, { mode: 0o600 })
  }
}

/** The names of all operations before this number are durable. */
function durableNames(done: readonly FileOperation[]): number {
  let floor = 0
  const namedAt = new Map<number, number>()
  const changedIn = new Map<string, number>()
  done.forEach((operation, place) => {
    if (operation.kind === 'sync') floor = Math.max(floor, namedAt.get(operation.file) ?? 0)
    if (operation.kind === 'sync_folder') floor = Math.max(floor, changedIn.get(operation.path) ?? 0)
    if (operation.kind !== 'name') return
    for (const [path, target] of operation.names) {
      if (typeof target === 'number') namedAt.set(target, place + 1)
      changedIn.set(posix.dirname(path), place + 1)
    }
  })
  return floor
}

interface Tree {
  readonly files: ReadonlyMap<string, number>
  readonly folders: ReadonlySet<string>
  /** By file that replaced another: its content from the operations before this number is durable without `fsync`. */
  readonly wholeUpTo: ReadonlyMap<number, number>
}

function treeAfter(done: readonly FileOperation[], lastName: number): Tree {
  const files = new Map<string, number>()
  const folders = new Set<string>()
  const wholeUpTo = new Map<number, number>()
  done.slice(0, lastName + 1).forEach((operation, place) => {
    for (const [path, target] of operation.kind === 'name' ? operation.names : []) {
      if (target === 'folder') folders.add(path)
      else if (target === undefined) {
        files.delete(path)
        folders.delete(path)
      } else {
        if (files.has(path)) wholeUpTo.set(target, place)
        files.set(path, target)
      }
    }
  })
  return { files, folders, wholeUpTo }
}

function contentOf(done: readonly FileOperation[], file: number, wholeUpTo: number, random: SeededRandom): Uint8Array {
  const syncedAt = done.findLastIndex((operation) => operation.kind === 'sync' && operation.file === file)
  const durable = applied(done.slice(0, Math.max(syncedAt, wholeUpTo)), file)
  const all = applied(done, file)
  if (all.length <= durable.length) return all.equals(durable) ? all : (random.pick([all, durable]) ?? all)
  const cut = durable.length + random.below(all.length - durable.length + 1)
  return random.pick([durable, all, all.subarray(0, cut), withHoles(all, durable.length, random)]) ?? all
}

/** The content with some pages of zeros: they were allocated and never written. Durable bytes stay. */
function withHoles(all: Buffer, from: number, random: SeededRandom): Buffer {
  const bytes = Buffer.from(all)
  for (let page = from - (from % pageBytes); page < bytes.length; page += pageBytes) {
    if (random.below(2) === 0) bytes.fill(0, Math.max(page, from), Math.min(page + pageBytes, bytes.length))
  }
  return bytes
}

function applied(done: readonly FileOperation[], file: number): Buffer {
  let bytes = Buffer.alloc(0)
  let size = 0
  for (const operation of done) {
    if (!('file' in operation) || operation.file !== file) continue
    if (operation.kind === 'truncate') size = operation.size
    if (operation.kind === 'truncate' || operation.kind === 'write') {
      const end = operation.kind === 'write' ? operation.at + operation.bytes.length : operation.size
      if (end > bytes.length) {
        const longer = Buffer.alloc(Math.max(end, 2 * bytes.length))
        bytes.copy(longer, 0, 0, size)
        bytes = longer
      }
      if (operation.kind === 'write') bytes.set(operation.bytes, operation.at)
      size = operation.kind === 'write' ? Math.max(size, end) : operation.size
    }
  }
  return bytes.subarray(0, size)
}

/** An operation of a process on a file below one folder. Paths are relative to the folder. */
export type FileOperation =
  | { readonly kind: 'name'; readonly names: readonly Name[] }
  | { readonly kind: 'write'; readonly file: number; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly file: number; readonly size: number }
  | { readonly kind: 'sync'; readonly file: number }
  | { readonly kind: 'sync_folder'; readonly path: string }

/** A path that from now on is the name of a file or folder, or was removed (undefined). */
export type Name = readonly [path: string, target: number | 'folder' | undefined]

export interface RecordedOperation {
  /** The start of the operation, Unix ms with fractions. */
  readonly at: number
  readonly operation: FileOperation
}
