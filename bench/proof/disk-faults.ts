import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { killAtExit } from '#bench/exit-cleanup'
import { sleep } from '#bench/time'

/** Calls on files of the database that fail with EIO, while the server starts or serves. */
export interface DiskFault {
  readonly moment: 'start' | 'serving'
  /** Names as `strace` uses them, separated by commas. */
  readonly call: string
  /**
   * The highest number that the first failing call may have. `strace` counts the calls of each thread, and eight threads
   * call.
   */
  readonly fromMax: number
  /** A single call fails instead of all calls from the first one on. */
  readonly isOnce?: boolean
  /** Calls on tables and the manifest fail, but not on the log: the database uses these files in the background. */
  readonly isBackground?: boolean
  /**
   * Activity of the server meanwhile. `write`: the writes of all workloads, which go to the log. `turn`: enough writes
   * for the database to begin a new log and to write a table from the old one. `read`: a subscriber reads the whole
   * stream, and lists are read, while tables are opened.
   */
  readonly activity: 'write' | 'turn' | 'read'
}

/** Every third fault hits a starting server. */
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
].map((fault) => ({ moment: 'start', activity: 'write', ...fault }))

const servingFaults: readonly DiskFault[] = [
  { call: 'write', fromMax: 8, activity: 'write' },
  { call: 'write', fromMax: 8, isOnce: true, activity: 'write' },
  { call: 'mmap', fromMax: 1, isOnce: true, activity: 'read' },
  { call: 'fdatasync', fromMax: 8, activity: 'write' },
  { call: 'fdatasync', fromMax: 8, isOnce: true, activity: 'write' },
  { call: 'openat,mmap', fromMax: 2, activity: 'read' },
  { call: 'openat', fromMax: 2, isOnce: true, activity: 'turn' },
  { call: 'write', fromMax: 400, isOnce: true, isBackground: true, activity: 'turn' },
  { call: 'openat', fromMax: 1, isOnce: true, activity: 'read' },
  { call: 'fdatasync', fromMax: 2, isOnce: true, isBackground: true, activity: 'turn' },
  { call: 'mmap', fromMax: 1, isOnce: true, activity: 'turn' },
  { call: 'write,fdatasync,fsync', fromMax: 20, activity: 'write' },
].map((fault) => ({ moment: 'serving', ...fault }) as DiskFault)

export function faultAt(place: number): DiskFault {
  const third = Math.floor(place / 3)
  const fault =
    place % 3 === 0
      ? startFaults[third % startFaults.length]
      : servingFaults[(place - third - 1) % servingFaults.length]
  return fault as DiskFault
}

export function faultText({ moment, call, isOnce, activity }: DiskFault, from: number): string {
  const doing = { write: 'it serves', turn: 'a new log is begun', read: 'it reads' }[activity]
  return `EIO from ${call} ${from}${isOnce ? ' once' : ' on'}, while ${moment === 'start' ? 'it starts' : doing}`
}

/** The largest number of files that a server creates in its life. */
const filesToCome = 24
const pollMs = 3
const attachMsMax = 10_000

/** Runs `strace`, which makes calls of one server fail. */
export class FaultyDisk {
  readonly #file: string
  readonly #fault: DiskFault
  readonly #options: readonly string[]
  #tracer: ChildProcess | undefined
  #watching: NodeJS.Timeout | undefined

  constructor(dataFolder: string, file: string, fault: DiskFault, from: number) {
    this.#file = file
    this.#fault = fault
    const paths = pathsIn(join(dataFolder, 'db'), fault).flatMap((path) => ['-P', path])
    const when = fault.isOnce ? `${from}` : `${from}+`
    const rules = ['-e', `trace=${fault.call}`, '-e', `inject=${fault.call}:error=EIO:when=${when}`]
    this.#options = ['-f', '-qq', '-o', file, ...paths, ...rules]
  }

  /** Command to put before the program of a server that is to start. */
  get inFront(): readonly string[] {
    return ['strace', '-D', ...this.#options, '--']
  }

  get refusals(): number {
    return textOf(this.#file).split('(INJECTED)').length - 1
  }

  /** Called when the process exists. A fault for a single call is removed after that call failed. */
  watch(processId: number): void {
    if (!this.#fault.isOnce) return
    this.#watching = setInterval(() => {
      if (this.refusals === 0) return
      clearInterval(this.#watching)
      const tracer = tracerOf(processId)
      if (tracer > 0) process.kill(tracer, 'SIGTERM')
    }, pollMs)
  }

  /** Attaches to a running server. */
  async attach(processId: number): Promise<void> {
    const tracer = spawn('strace', [...this.#options, '-p', String(processId)], { stdio: 'ignore' })
    this.#tracer = tracer
    killAtExit(tracer)
    for (const end = performance.now() + attachMsMax; !isTraced(processId); await sleep(pollMs))
      if (performance.now() > end || tracer.exitCode !== null) throw new Error('strace could not be attached')
    this.watch(processId)
  }

  /** Detaches: calls succeed again. */
  async end(): Promise<void> {
    clearInterval(this.#watching)
    const tracer = this.#tracer
    if (!tracer || tracer.exitCode !== null || tracer.signalCode !== null) return
    const ended = new Promise((resolve) => tracer.once('exit', resolve))
    tracer.kill('SIGTERM')
    await ended
  }
}

function pathsIn(folder: string, { isBackground, activity }: DiskFault): readonly string[] {
  const there = readdirSync(folder)
  const last = Math.max(0, ...there.map((name) => Number(/\d{6,}/.exec(name)?.[0] ?? 0)))
  const toCome = Array.from({ length: filesToCome }, (_, place) => String(last + place + 1).padStart(6, '0')).flatMap(
    (number) => [`${number}.log`, `${number}.ldb`, `MANIFEST-${number}`, `${number}.dbtmp`],
  )
  // Includes the folder, which is synced when a new file gets its name.
  const names = ['.', ...there, ...toCome]
  if (activity === 'read') return names.filter((name) => name.endsWith('.ldb')).map((name) => join(folder, name))
  const concerned = names.filter((name) => !isBackground || /ldb$|MANIFEST/.test(name))
  return concerned.map((name) => join(folder, name))
}

/** The process that traces this process or thread; 0: none. */
function tracerOf(processId: number | string): number {
  return Number(/^TracerPid:\s+(\d+)$/m.exec(textOf(`/proc/${processId}/status`))?.[1] ?? 0)
}

function isTraced(processId: number): boolean {
  const threads = readdirSync(`/proc/${processId}/task`)
  return threads.every((thread) => tracerOf(`${processId}/task/${thread}`) > 0)
}

/** Empty if the file does not exist any more. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
