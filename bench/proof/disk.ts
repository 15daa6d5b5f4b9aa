import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Dashboard, type StreamEvent } from '#bench/dashboard'
import { identityOn } from '#bench/harness/identity'
import { loadedBefore } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { Office } from '#bench/proof/clerks/office'
import { ProofApi } from '#bench/proof/clerks/proof-api'
import { patient, streamFaults } from '#bench/proof/left-folder'
import { SeededRandom } from '#bench/random'
import { freePort, ServerProcess, type ServerSettings, startServer } from '#bench/server-process'

export interface DiskProofOptions {
  readonly seed: number
  /** How often the disk refuses a write or an `fsync` with EIO, each time a server. */
  readonly refusals: number
  /** How often the disk is full. */
  readonly fillings: number
  readonly print: (line: string) => void
}

export interface DiskProofReport {
  readonly seconds: number
  readonly refusals: number
  /** Servers that did not start, and said why; that went on reading; that nothing happened to. */
  readonly stopped: number
  readonly readOnly: number
  readonly unharmed: number
  readonly fillings: number
  /** Of full disks: behind which the server went on by itself, and behind which it was killed. */
  readonly wentOn: number
  readonly killed: number
  /** Why no disk was filled, if none was. */
  readonly whyNot?: string
  readonly acknowledged: number
  readonly problems: readonly string[]
}

const lifeMs = 700
const calls = ['write', 'fdatasync', 'fsync', 'write,fdatasync,fsync', 'rename', 'openat'] as const
/** Of each thread: so `strace` counts, and the pool has eight. */
const refusalAfterMax = { write: 12, fdatasync: 8, fsync: 1, 'write,fdatasync,fsync': 20, rename: 1, openat: 3 }
/** Files that a server may make in its life, beside those that are there. */
const filesToCome = 24
/** Of servers that the disk was to refuse something: what came too late says nothing. */
const unharmedShareMax = 0.5
const diskMib = 48
const ballastMib = 40
const roomMsMax = 30_000
const problemsMax = 5

/**
 * Lets the disk refuse: with EIO at some write or `fsync` and all that follow (by `strace`, which answers in the kernel's
 * stead), and full (a small file system of its own, where that may be mounted). What was acknowledged stays, what is asked
 * meanwhile is answered by 503, nothing is told that is not stored, and a start, or room, makes it well.
 */
export async function proveDisk(options: DiskProofOptions): Promise<DiskProofReport> {
  const startedAt = performance.now()
  const folder = temporaryFolder('disk-proof-')
  const run = new DiskRun(options, folder.path, await freePort())
  try {
    await run.open()
    for (let refusal = 0; refusal < options.refusals && run.isHolding; refusal++) await run.refuse(refusal)
    await run.close()
    if (run.counts.unharmed > options.refusals * unharmedShareMax)
      run.problems.push(
        `${run.counts.unharmed} of ${options.refusals} servers were refused nothing: nothing is shown by that`,
      )
    const whyNot = await filled(folder.path, options, run)
    return {
      seconds: (performance.now() - startedAt) / 1000,
      refusals: options.refusals,
      ...run.counts,
      fillings: whyNot === undefined ? options.fillings : 0,
      ...(whyNot !== undefined && { whyNot }),
      problems: run.problems,
    }
  } finally {
    await run.close()
    await folder.remove()
  }
}

/** Why it could not be tried; undefined when it was. */
async function filled(folder: string, options: DiskProofOptions, counting: DiskRun): Promise<string | undefined> {
  const disk = join(folder, 'disk')
  mkdirSync(disk)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMib + ballastMib}m`, 'tmpfs', disk], { stdio: 'pipe' })
  } catch {
    return 'a small file system could not be mounted (needs root)'
  }
  const run = new DiskRun(options, disk, await freePort(), counting)
  try {
    await run.open()
    for (let filling = 0; filling < options.fillings && run.isHolding; filling++) await run.fill(filling, disk)
  } finally {
    await run.close()
    execFileSync('umount', ['--lazy', disk])
  }
  return undefined
}

class DiskRun {
  readonly counts: {
    stopped: number
    readOnly: number
    unharmed: number
    wentOn: number
    killed: number
    acknowledged: number
  }
  readonly problems: string[]
  readonly #random: SeededRandom
  readonly #where: { readonly port: number; readonly dataFolder: string }
  #server: ServerProcess | undefined
  #office: Office | undefined

  constructor({ seed }: DiskProofOptions, folder: string, port: number, counting?: DiskRun) {
    this.#random = new SeededRandom(seed)
    this.#where = { port, dataFolder: join(folder, 'data') }
    this.counts = counting?.counts ?? { stopped: 0, readOnly: 0, unharmed: 0, wentOn: 0, killed: 0, acknowledged: 0 }
    this.problems = counting?.problems ?? []
  }

  get isHolding(): boolean {
    return this.problems.length < problemsMax
  }

  async open(): Promise<void> {
    mkdirSync(this.#where.dataFolder, { recursive: true, mode: 0o700 })
    this.#server = await startServer(this.#settings())
    this.#office = await Office.open({ ...this.#where, random: this.#random })
    await this.#settle('at the beginning')
  }

  async close(): Promise<void> {
    await this.#office?.end()
    await this.#server?.kill()
    for (const { acknowledged } of Object.values(this.#office?.counts ?? {})) this.counts.acknowledged += acknowledged
    this.#office = undefined
  }

  /** From some call on the disk refuses all of its kind. */
  async refuse(refusal: number): Promise<void> {
    await this.#server?.kill()
    const call = calls[refusal % calls.length] as (typeof calls)[number]
    const from = 1 + this.#random.below(refusalAfterMax[call])
    const said = `EIO from ${call} ${from} on`
    const server = new ServerProcess(this.#settings(refusing(this.#where.dataFolder, call, from)))
    this.#server = server
    const isServing = await server.serving().then(
      () => true,
      () => false,
    )
    const told = isServing ? await this.#live(said) : []
    if (isServing) await this.#mustAnswer(said)
    else {
      this.counts.stopped++
      const words = server.lines.join('\n')
      if (!/check the disk|I\/O error|EIO/.test(words))
        this.problems.push(`${said}: it stopped and did not say why: ${words}`)
    }
    await server.kill()
    this.#server = await startServer(this.#settings())
    await this.#mustHold(said, told)
  }

  /** Nothing is left on the disk; then there is room again, before or behind a kill. */
  async fill(filling: number, disk: string): Promise<void> {
    const ballast = join(disk, 'ballast')
    const said = `full disk ${filling}`
    const filled = pass(lifeMs / 2).then(() => fillUp(ballast))
    const told = await this.#live(said)
    await filled
    // Whatever is left goes to who asks for it now.
    told.push(...(await this.#live(said)))
    const isKilled = filling % 2 === 1
    if (isKilled) await this.#server?.kill()
    await rm(ballast)
    if (isKilled) this.#server = await startServer(this.#settings())
    else await this.#untilOk(said)
    this.counts[isKilled ? 'killed' : 'wentOn']++
    await this.#mustHold(said, told)
  }

  /** The clerks write while somebody listens; what he heard. */
  async #live(said: string): Promise<StreamEvent[]> {
    const office = this.#office as Office
    const told: StreamEvent[] = []
    const onEvent = (event: StreamEvent) => told.push(event)
    const { authorization } = office
    const dashboard = new Dashboard({ url: this.#url, from: 'now', authorization, isFolding: false, onEvent })
    dashboard.start()
    let isOver = false
    const working = office.work(() => isOver)
    await pass(lifeMs)
    isOver = true
    await working
    dashboard.stop()
    if (this.#server?.isEnded)
      this.problems.push(`${said}: the server ended by itself: ${this.#server.lines.join('\n')}`)
    return told
  }

  /** Reads go on; a write is refused in the words of the contract, or the refusal did not come yet. */
  async #mustAnswer(said: string): Promise<void> {
    const { authorization } = this.#office as Office
    const api = new ProofApi(this.#url, authorization, this.#where.dataFolder)
    const body = { name: 'S', properties: {} }
    const write = await api.ask('PUT', '/schemas/asked', { body }).catch(() => undefined)
    if (write?.status === 200) {
      this.counts.unharmed++
      return
    }
    this.counts.readOnly++
    if (write?.status !== 503 || !(Number(write.headers['retry-after']) > 0))
      this.problems.push(`${said}: a write was answered ${write?.status} ${write?.text}`)
    // What a failed commit had changed is taken back first.
    for (const end = performance.now() + roomMsMax; ; await pass(100)) {
      const read = await api.ask('GET', '/schemas').catch(() => undefined)
      if (read?.status === 200) return
      if (read?.status === 503 && performance.now() < end) continue
      this.problems.push(`${said}: reading was answered ${read?.status} ${read?.text}`)
      return
    }
  }

  async #mustHold(said: string, told: readonly StreamEvent[]): Promise<void> {
    const office = this.#office as Office
    await this.#settle(said)
    const faults = await streamFaults(this.#url, office, told)
    this.problems.push(...faults.map((text) => `${said}: ${text}`))
  }

  async #settle(said: string): Promise<void> {
    const found = (await this.#office?.settle()) ?? []
    this.problems.push(...found.map((text) => `${said}: ${text}`))
  }

  async #untilOk(said: string): Promise<void> {
    const api = new ProofApi(this.#url, (this.#office as Office).authorization, this.#where.dataFolder)
    for (const end = performance.now() + roomMsMax; performance.now() < end; await pass(100)) {
      const answer = await api.ask('GET', '/health/status').catch(() => undefined)
      if (answer?.status === 200 && answer.text.includes('"database":{"status":"ok"}')) return
    }
    this.problems.push(`${said}: it did not go on within ${roomMsMax / 1000} s of there being room`)
  }

  get #url(): string {
    return `http://127.0.0.1:${this.#where.port}`
  }

  #settings(inFront?: readonly string[]): ServerSettings {
    return {
      ...this.#where,
      environment: { ...identityOn, ...patient, DURABILITY: 'disk', LOG_LEVEL: 'warn' },
      nodeArguments: loadedBefore('harness/cheap-passwords'),
      isKilledAtExit: true,
      ...(inFront && { inFront }),
    }
  }
}

/** `strace`, which answers calls about the files of the database from one on with EIO. */
function refusing(dataFolder: string, call: string, from: number): readonly string[] {
  const folder = join(dataFolder, 'db')
  const there = readdirSync(folder)
  const last = Math.max(0, ...there.map((name) => Number(/\d{6,}/.exec(name)?.[0] ?? 0)))
  const toCome = Array.from({ length: filesToCome }, (_, place) => String(last + place + 1).padStart(6, '0')).flatMap(
    (number) => [`${number}.log`, `${number}.ldb`, `MANIFEST-${number}`, `${number}.dbtmp`],
  )
  // The folder, too: it is synced when a file of it gets its name.
  const paths = ['.', ...there, ...toCome].flatMap((name) => ['-P', join(folder, name)])
  return ['strace', '-D', '-f', '-qq', '-o', '/dev/null', ...paths].concat([
    '-e',
    `trace=${call}`,
    '-e',
    `inject=${call}:error=EIO:when=${from}+`,
    '--',
  ])
}

function fillUp(file: string): void {
  const piece = new Uint8Array(256 * 1024)
  try {
    for (;;) writeFileSync(file, piece, { flag: 'a' })
  } catch {
    // It is full.
  }
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
