import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { killAtExit } from '#bench/at-exit'

/** What the disk refuses with EIO: calls about the files of the database, of a server that starts or that serves. */
export interface DiskFault {
  readonly moment: 'start' | 'serving'
  /** As `strace` names them, with commas between. */
  readonly call: string
  /** Which call of a thread is the first that is refused, at most: so `strace` counts, and the pool has eight threads. */
  readonly fromMax: number
  /** One call is refused, and then all is well again. */
  readonly isOnce?: boolean
  /** Of those that go on, but for the log: tables and the manifest are written and read behind the back of who asks. */
  readonly isBeneath?: boolean
  /**
   * What the server does meanwhile. `write`: the writes of all workloads, which are in the log. `turn`: as much as makes the database
   * begin a new log and write out the one before. `read`: all of the stream,
   * and lists, while tables are opened.
   */
  readonly deed: 'write' | 'turn' | 'read'
}

/** Every third one hits a start. */
const startFaults: readonly DiskFault[] = [
  { call: 'write', fromMax: 12 },
  { call: 'read', fromMax: 4 },
  { call: 'fdatasync', fromMax: 8 },
  { call: 'mmap', fromMax: 2, isOnce: true },
  { call: 'write,fdatasync,fsync', fromMax: 20 },
  { call: 'openat', fromMax: 6, isOnce: true },
  { call: 'rename', fromMax: 1 },
  { call: 'pread64', fromMax: 4, isOnce: true },
  { call: 'fsync', fromMax: 1 },
  { call: 'mmap', fromMax: 1 },
  { call: 'openat', fromMax: 3 },
  { call: 'read', fromMax: 4, isOnce: true },
].map((fault) => ({ moment: 'start', deed: 'write', ...fault }))

const servingFaults: readonly DiskFault[] = [
  { call: 'write', fromMax: 8, deed: 'write' },
  { call: 'write', fromMax: 8, isOnce: true, deed: 'write' },
  { call: 'mmap', fromMax: 1, isOnce: true, deed: 'read' },
  { call: 'fdatasync', fromMax: 8, deed: 'write' },
  { call: 'fdatasync', fromMax: 8, isOnce: true, deed: 'write' },
  { call: 'openat,mmap', fromMax: 2, deed: 'read' },
  { call: 'openat', fromMax: 2, isOnce: true, deed: 'turn' },
  { call: 'write', fromMax: 400, isOnce: true, isBeneath: true, deed: 'turn' },
  { call: 'openat', fromMax: 1, isOnce: true, deed: 'read' },
  { call: 'fdatasync', fromMax: 2, isOnce: true, isBeneath: true, deed: 'turn' },
  { call: 'mmap', fromMax: 1, isOnce: true, deed: 'turn' },
  { call: 'write,fdatasync,fsync', fromMax: 20, deed: 'write' },
].map((fault) => ({ moment: 'serving', ...fault }) as DiskFault)

export function faultAt(place: number): DiskFault {
  const third = Math.floor(place / 3)
  const fault =
    place % 3 === 0
      ? startFaults[third % startFaults.length]
      : servingFaults[(place - third - 1) % servingFaults.length]
  return fault as DiskFault
}

/** In words. */
export function saidOf({ moment, call, isOnce, deed }: DiskFault, from: number): string {
  const doing = { write: 'it serves', turn: 'a new log is begun', read: 'it reads' }[deed]
  return `EIO from ${call} ${from}${isOnce ? ' once' : ' on'}, while ${moment === 'start' ? 'it starts' : doing}`
}

/** Files that a server may make in its life, beside those that are there. */
const filesToCome = 24
const pollMs = 3
const attachMsMax = 10_000

/** `strace`, which answers calls of one server in the kernel's stead. */
export class RefusingDisk {
  /** What it wrote down. */
  readonly #file: string
  readonly #fault: DiskFault
  readonly #options: readonly string[]
  #tracer: ChildProcess | undefined
  #watching: NodeJS.Timeout | undefined

  /** `file`: where it may write. */
  constructor(dataFolder: string, file: string, fault: DiskFault, from: number) {
    this.#file = file
    this.#fault = fault
    const paths = pathsIn(join(dataFolder, 'db'), fault).flatMap((path) => ['-P', path])
    const when = fault.isOnce ? `${from}` : `${from}+`
    const rules = ['-e', `trace=${fault.call}`, '-e', `inject=${fault.call}:error=EIO:when=${when}`]
    this.#options = ['-f', '-qq', '-o', file, ...paths, ...rules]
  }

  /** In front of a server that is to start. */
  get inFront(): readonly string[] {
    return ['strace', '-D', ...this.#options, '--']
  }

  /** How many calls were refused. */
  get refusals(): number {
    return textOf(this.#file).split('(INJECTED)').length - 1
  }

  /** To be called when the process is there: one that refuses once is taken away when it did. */
  watch(processId: number): void {
    if (!this.#fault.isOnce) return
    this.#watching = setInterval(() => {
      if (this.refusals === 0) return
      clearInterval(this.#watching)
      const tracer = tracerOf(processId)
      if (tracer > 0) process.kill(tracer, 'SIGTERM')
    }, pollMs)
  }

  /** Comes between a server that serves and its disk. */
  async attach(processId: number): Promise<void> {
    const tracer = spawn('strace', [...this.#options, '-p', String(processId)], { stdio: 'ignore' })
    this.#tracer = tracer
    killAtExit(tracer)
    for (const end = performance.now() + attachMsMax; !isTraced(processId); await pass(pollMs))
      if (performance.now() > end || tracer.exitCode !== null) throw new Error('strace could not be attached')
    this.watch(processId)
  }

  /** All is well again. */
  async end(): Promise<void> {
    clearInterval(this.#watching)
    const tracer = this.#tracer
    if (!tracer || tracer.exitCode !== null || tracer.signalCode !== null) return
    const ended = new Promise((resolve) => tracer.once('exit', resolve))
    tracer.kill('SIGTERM')
    await ended
  }
}

function pathsIn(folder: string, { isBeneath, deed }: DiskFault): readonly string[] {
  const there = readdirSync(folder)
  const last = Math.max(0, ...there.map((name) => Number(/\d{6,}/.exec(name)?.[0] ?? 0)))
  const toCome = Array.from({ length: filesToCome }, (_, place) => String(last + place + 1).padStart(6, '0')).flatMap(
    (number) => [`${number}.log`, `${number}.ldb`, `MANIFEST-${number}`, `${number}.dbtmp`],
  )
  // The folder, too: it is synced when a file of it gets its name.
  const names = ['.', ...there, ...toCome]
  if (deed === 'read') return names.filter((name) => name.endsWith('.ldb')).map((name) => join(folder, name))
  const concerned = names.filter((name) => !isBeneath || /ldb$|MANIFEST/.test(name))
  return concerned.map((name) => join(folder, name))
}

/** 0: nobody. */
function tracerOf(processId: number | string): number {
  return Number(/^TracerPid:\s+(\d+)$/m.exec(textOf(`/proc/${processId}/status`))?.[1] ?? 0)
}

function isTraced(processId: number): boolean {
  const threads = readdirSync(`/proc/${processId}/task`)
  return threads.every((thread) => tracerOf(`${processId}/task/${thread}`) > 0)
}

/** Nothing where nothing is, or is no more. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
