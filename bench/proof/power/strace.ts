import { createReadStream } from 'node:fs'
import { posix } from 'node:path'
import { createInterface } from 'node:readline'
import type { FileOperation, Name, RecordedOperation } from '#bench/proof/power/disk-state'

/** Reads the output of `strace` about a process and its threads. */

const calls = [
  ...['open', 'openat', 'creat', 'write', 'pwrite64', 'writev', 'pwritev', 'lseek', 'fsync', 'fdatasync', 'rename'],
  ...['renameat', 'renameat2', 'link', 'linkat', 'unlink', 'unlinkat', 'mkdir', 'mkdirat', 'rmdir', 'ftruncate'],
  ...['truncate', 'copy_file_range', 'sendfile', 'fallocate'],
]

/** More than the server writes in one call. */
const bytesShownMax = 4 * 1024 * 1024

/** The command to put before the program. `file`: for the output. */
export function straced(file: string): readonly string[] {
  // The process stays our child, so that only it gets a signal.
  const options = `-D -f --seccomp-bpf -qq -y -xx -ttt -s ${bytesShownMax} -e trace=${calls.join(',')}`
  return ['strace', ...options.split(' '), '-o', file, '--']
}

interface Call {
  readonly name: string
  readonly args: string
  readonly result: string
}

/** The operations on files below a folder, ordered by their end. @throws for calls that it does not understand */
export async function readStrace(
  file: string,
  folder: string,
  files: TracedFiles,
): Promise<readonly RecordedOperation[]> {
  const found: RecordedOperation[] = []
  /** By thread, the beginning of a call during which other threads called. */
  const unfinished = new Map<string, { readonly at: number; readonly text: string }>()
  for await (const line of createInterface({ input: createReadStream(file, 'latin1'), crlfDelay: Infinity })) {
    const [, thread = '', time = '', rest = ''] = /^(\d+)\s+(\d+\.\d+) (.*)$/s.exec(line) ?? []
    const before = unfinished.get(thread) ?? { at: Number(time) * 1000, text: '' }
    const text = before.text + rest.replace(/^<\.\.\. \w+ resumed>/, '')
    unfinished.delete(thread)
    if (text.endsWith(unfinishedEnd)) {
      unfinished.set(thread, { at: before.at, text: text.slice(0, -unfinishedEnd.length) })
      continue
    }
    const [, name, args = '', result = ''] = /^(\w+)\((.*)\)\s+= (.*)$/s.exec(text) ?? []
    if (name === undefined || result.startsWith('-1 ') || result.startsWith('?')) continue
    for (const operation of operationsOf({ name, args, result }, folder, files))
      found.push({ at: before.at, operation })
  }
  return found
}

const unfinishedEnd = ' <unfinished ...>'

/**
 * The files of a folder by their paths. A file keeps its number when it is renamed, and in later processes on the same
 * folder.
 */
export type TracedFiles = Map<string, { readonly file: number; size: number }>

let filesCount = 0

function operationsOf({ name, args, result }: Call, folder: string, files: TracedFiles): readonly FileOperation[] {
  const within = (path: string | undefined) =>
    path === undefined || !path.startsWith(`${folder}/`) ? undefined : posix.normalize(path.slice(folder.length + 1))
  // Text in quotes consists of hexadecimal digits.
  const parts = args.split('"')
  const texts = parts.filter((_, place) => place % 2 === 1).map(bytesOf)
  const paths = texts.slice(0, 2).map((bytes) => within(bytes.toString()))
  switch (name) {
    case 'open':
    case 'openat':
    case 'creat': {
      const [path] = paths
      if (path === undefined || !/O_CREAT|O_TRUNC/.test(args)) return []
      const known = files.get(path)
      if (!known) {
        const file = ++filesCount
        files.set(path, { file, size: 0 })
        return [{ kind: 'name', names: [[path, file]] }]
      }
      if (!args.includes('O_TRUNC')) return []
      known.size = 0
      return [{ kind: 'truncate', file: known.file, size: 0 }]
    }
    case 'write':
    case 'pwrite64': {
      const known = fileOf(args, within, files)
      if (!known) return []
      const written = Number.parseInt(result, 10)
      const [bytes = Buffer.alloc(0)] = texts
      const behind = parts[2] ?? ''
      if (behind.startsWith('...')) throw new Error(`more than ${bytesShownMax} bytes were written at once`)
      const given = /^, \d+, (\d+)/.exec(behind)?.[1]
      // Writes without an offset append.
      const at = given === undefined ? known.size : Number(given)
      known.size = Math.max(known.size, at + written)
      return [{ kind: 'write', file: known.file, at, bytes: bytes.subarray(0, written) }]
    }
    case 'fsync':
    case 'fdatasync': {
      const known = fileOf(args, within, files)
      if (known) return [{ kind: 'sync', file: known.file }]
      const path = pathOf(args)
      if (path === folder) return [{ kind: 'sync_folder', path: '.' }]
      const inside = within(path)
      return inside === undefined ? [] : [{ kind: 'sync_folder', path: inside }]
    }
    case 'rename':
    case 'renameat':
    case 'renameat2':
    case 'link':
    case 'linkat': {
      const [from, to] = paths
      if (from === undefined || to === undefined) return []
      const isRename = name.startsWith('rename')
      const found = [...files].filter(([path]) => path === from || path.startsWith(`${from}/`))
      const names = found.flatMap(([path, known]): Name[] => {
        const target = to + path.slice(from.length)
        if (isRename) files.delete(path)
        files.set(target, known)
        return isRename
          ? [
              [path, undefined],
              [target, known.file],
            ]
          : [[target, known.file]]
      })
      return [{ kind: 'name', names }]
    }
    case 'unlink':
    case 'unlinkat':
    case 'rmdir': {
      const [path] = paths
      if (path === undefined) return []
      files.delete(path)
      return [{ kind: 'name', names: [[path, undefined]] }]
    }
    case 'mkdir':
    case 'mkdirat': {
      const [path] = paths
      return path === undefined ? [] : [{ kind: 'name', names: [[path, 'folder']] }]
    }
    case 'ftruncate': {
      const known = fileOf(args, within, files)
      if (!known) return []
      known.size = Number(/, (\d+)$/.exec(args)?.[1])
      return [{ kind: 'truncate', file: known.file, size: known.size }]
    }
    case 'lseek':
      return []
    default: {
      const isOurs = within(pathOf(args)) !== undefined || paths.some((path) => path !== undefined)
      if (isOurs) throw new Error(`${name} on a file below ${folder}: the proof does not know what that does`)
      return []
    }
  }
}

/** The path of a descriptor, which follows it in angle brackets. */
function pathOf(args: string): string | undefined {
  const [, hex] = /^\d+<((?:\\x[0-9a-f]{2})*)>/.exec(args) ?? []
  return hex === undefined ? undefined : bytesOf(hex).toString()
}

function fileOf(args: string, within: (path: string | undefined) => string | undefined, files: TracedFiles) {
  const path = within(pathOf(args))
  return path === undefined ? undefined : files.get(path)
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex')
}
