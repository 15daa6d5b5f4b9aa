import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { integer, option } from '#bench/command-line'
import { Dashboard, type StreamEvent } from '#bench/dashboard'
import { proofServer, type ServerPlace } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import type { HttpAnswer } from '#bench/http'
import { type DiskFault, FaultyDisk, faultAt, faultText } from '#bench/proof/disk-faults'
import { readWorkloadStream } from '#bench/proof/opened-folder'
import type { Proof } from '#bench/proof/outcome'
import { openWorkloads, type WorkloadRunner } from '#bench/proof/workloads/workload-runner'
import { SeededRandom } from '#bench/random'
import { freePort, ServerProcess, type ServerSettings, startServer } from '#bench/server-process'
import { isFulfilled, sleep, until } from '#bench/time'

export interface DiskProofOptions {
  readonly seed: number
  /** Number of disk faults (calls that fail with EIO). The server is restarted after each. */
  readonly refusals: number
  readonly fillings: number
  readonly print: (line: string) => void
}

const lifeMs = 700
/** A run with a higher share of faults without effect proves nothing. */
const unharmedShareMax = 0.5
/** At least this share of the faults must hit a serving server. */
const servingShareMin = 0.5
/** The MB written before the first fault, so that there are tables that a starting server does not read. */
const firstFloodMb = 24
/** Together more than 16 MiB of values, after which the database writes a table. Most are written before the fault. */
const turnBytes = { before: 14e6, behind: 8e6 }
const turnMsMax = 10_000
const turnPieceBytes = 90_000
/** Devices that never change, in every list of devices. */
const keptDevices = Array.from({ length: 40 }, (_, place) => `KEPT-${place}`)
/** The longest time of the background work of the database after a start. */
const settledMs = 1_000
const diskMib = 48
const ballastMib = 40
const roomMsMax = 30_000
const problemsMax = 5

/**
 * Makes the disk fail in two ways. By `strace`, calls on files return EIO, once or permanently, mostly while the server
 * serves. And the disk is full (a small file system, if it can be mounted). Acknowledged changes must stay, requests
 * meanwhile must get 503, events must be stored and complete, and a restart, or free space, must repair the server.
 */
export async function proveDisk(options: DiskProofOptions) {
  const folder = temporaryFolder('disk-proof-')
  const run = new DiskRun(options, folder.path, await freePort())
  const { counts, problems } = run
  try {
    await run.open(firstFloodMb)
    for (let refusal = 0; refusal < options.refusals && run.isHolding; refusal++) await run.refuse(refusal)
    await run.close()
    if (counts.unharmed > options.refusals * unharmedShareMax)
      problems.push(`${counts.unharmed} of ${options.refusals} servers met no fault: this run proves nothing`)
    if (counts.serving < options.refusals * servingShareMin)
      problems.push(`only ${counts.serving} of ${options.refusals} faults hit a server that was serving`)
    const skipReason = await filled(folder.path, options, run)
    return { ...counts, skipReason, problems }
  } finally {
    await run.close()
    await folder.remove()
  }
}

/** Tries a full disk. Returns the reason if that was not possible. */
async function filled(folder: string, options: DiskProofOptions, counting: DiskRun): Promise<string | undefined> {
  if (options.fillings === 0) return 'no disk was to be filled'
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

/**
 * `serving`: faults that hit a server that was already serving. `once`: faults of a single call. Then servers by what a
 * fault did to them: they did not start (`stopped`), refused writes (`readOnly`), accepted writes, or met no fault
 * (`unharmed`). Full disks after which the server continued by itself (`continued`), or was killed.
 */
const none = {
  ...{ serving: 0, once: 0, stopped: 0, readOnly: 0, tookWrites: 0, unharmed: 0 },
  ...{ continued: 0, killed: 0, acknowledged: 0 },
}

class DiskRun {
  readonly counts: typeof none
  readonly problems: string[]
  readonly #random: SeededRandom
  readonly #where: ServerPlace
  readonly #trace: string
  readonly #print: (line: string) => void
  /** Whether the data can no longer be opened. */
  #isLost = false
  #server: ServerProcess | undefined
  #runner: WorkloadRunner | undefined

  constructor({ seed, print }: DiskProofOptions, folder: string, port: number, counting?: DiskRun) {
    this.#random = new SeededRandom(seed)
    this.#print = print
    this.#where = { port, dataFolder: join(folder, 'data') }
    this.#trace = join(folder, 'trace')
    this.counts = counting?.counts ?? { ...none }
    this.problems = counting?.problems ?? []
  }

  get isHolding(): boolean {
    return !this.#isLost && this.problems.length < problemsMax
  }

  async open(floodMb = 0): Promise<void> {
    mkdirSync(this.#where.dataFolder, { recursive: true, mode: 0o700 })
    this.#server = await startServer(this.#settings())
    this.#runner = await openWorkloads({ ...this.#where, random: this.#random })
    await this.#settle('at the beginning')
    for (const deviceIdentifier of keptDevices)
      await this.#running.api.must('POST', '/devices', { body: { deviceIdentifier } })
    await this.#runner.flood(floodMb)
  }

  async close(): Promise<void> {
    await this.#runner?.end()
    await this.#server?.kill()
    for (const { acknowledged } of Object.values(this.#runner?.counts ?? {})) this.counts.acknowledged += acknowledged
    this.#runner = undefined
  }

  /** Makes one call, or all calls of a kind from some call on, fail. */
  async refuse(refusal: number): Promise<void> {
    const fault = faultAt(refusal)
    const from = 1 + this.#random.below(fault.fromMax)
    const label = faultText(fault, from)
    rmSync(this.#trace, { force: true })
    const before = { ...this.counts }
    const result = await (fault.moment === 'start'
      ? this.#refuseStart(label, fault, from)
      : this.#refuseServing(label, fault, from))
    if (!result) return
    const { disk, received, wasServing } = result
    const { refusals } = disk
    if (wasServing && refusals > 0) this.counts.serving++
    if (fault.isOnce && refusals > 0) this.counts.once++
    if (received) await this.#judge(label, fault, refusals, received)
    await disk.end()
    const outcomes = ['stopped', 'readOnly', 'tookWrites', 'unharmed'] as const
    this.#print(`${label}: ${outcomes.filter((name) => this.counts[name] > before[name]).join()}`)
    await this.#startAgain(label)
    if (!this.#isLost) await this.#mustHold(label, received ?? [])
  }

  /** Kills the server, and starts it again on a healthy disk. */
  async #startAgain(label: string): Promise<void> {
    await this.#server?.kill()
    try {
      this.#server = await startServer(this.#settings())
    } catch (error) {
      this.#isLost = true
      this.#wrong(label, `the server then does not start: ${error instanceof Error ? error.message : error}`)
    }
  }

  /** Returns no events if the server does not start. */
  async #refuseStart(label: string, fault: DiskFault, from: number) {
    await this.#server?.kill()
    const disk = new FaultyDisk(this.#where.dataFolder, this.#trace, fault, from)
    const server = new ServerProcess(this.#settings(disk.inFront))
    this.#server = server
    disk.watch(server.processId)
    const isServing = await isFulfilled(server.serving())
    const wasServing = isServing && disk.refusals === 0
    if (isServing) return { disk, wasServing, received: await this.#live(label) }
    this.counts.stopped++
    const words = server.lines.join('\n')
    if (!/check the disk|I\/O error|EIO/.test(words))
      this.#wrong(label, `the server stopped without a reason: ${words}`)
    return { disk, wasServing, received: undefined }
  }

  /** Returns nothing if the server does not start before the fault. */
  async #refuseServing(label: string, fault: DiskFault, from: number) {
    if (fault.activity === 'read') {
      // Files that were read before are open, so the server is restarted. It still opens the files that it creates.
      await this.#startAgain(label)
      if (this.#isLost) return undefined
      await sleep(settledMs)
    }
    if (fault.activity === 'turn') await this.#fillLog(turnBytes.before)
    const disk = new FaultyDisk(this.#where.dataFolder, this.#trace, fault, from)
    await disk.attach(this.#server?.processId ?? 0)
    // Waits for the first failed call, or for a time limit: `strace` counts the calls of each thread separately.
    const refused = until(() => disk.refusals > 0, turnMsMax, 20).then(() => undefined)
    const reading = fault.activity === 'read' ? this.#read(label) : undefined
    const doing = fault.activity === 'turn' ? this.#fillLog(turnBytes.behind) : reading
    const received = await this.#live(label, doing ?? refused)
    // The disk is healthy again: new acknowledged changes must last, too.
    if (fault.isOnce) {
      await disk.end()
      received.push(...(await this.#live(label)))
    }
    return { disk, wasServing: true, received }
  }

  /** Checks a server that serves after or during the fault. */
  async #judge(label: string, fault: DiskFault, refusals: number, received: readonly StreamEvent[]): Promise<void> {
    await this.#mustAnswer(label, refusals)
    // The stream can't be compared while tables cannot be read.
    if (!fault.isOnce && fault.activity === 'read') return
    await this.#compareStream(`${label}: before the restart`, received)
  }

  /** While tables cannot be opened, a subscriber gets all events or is disconnected; a list is complete or refused. */
  async #read(label: string): Promise<void> {
    const { authorization, first, api } = this.#running
    let offset = first.offset
    const gaps: number[] = []
    const onEvent = (event: StreamEvent) => {
      if (event.offset !== offset + 1 && reader.counts.resyncs + reader.counts.notRecovered === 0)
        gaps.push(event.offset)
      offset = event.offset
    }
    const reader = new Dashboard({ url: api.url, from: first, authorization, isFolding: false, onEvent })
    reader.start()
    for (const end = performance.now() + lifeMs; performance.now() < end; await sleep(10)) {
      const list = await this.#running.api.ask('GET', '/devices').catch(() => undefined)
      if (list?.status !== 200) continue
      const missing = keptDevices.filter((name) => !list.text.includes(`"${name}"`))
      if (missing.length === 0) continue
      this.#wrong(label, `${missing.length} devices were left out of a list that was answered 200`)
      break
    }
    reader.stop()
    const faults = [...reader.faults, ...gaps.map((at) => `the stream has a gap before ${at}`)]
    this.#wrong(label, ...faults.slice(0, 2))
  }

  /** Writes this much data without events, or until a write is refused or the time is over. */
  async #fillLog(bytes: number): Promise<void> {
    const end = performance.now() + turnMsMax
    for (let left = bytes; left > 0 && performance.now() < end; left -= turnPieceBytes) {
      const locale = () => ({ subject: 'A', text: randomBytes(turnPieceBytes / 4).toString('base64') })
      const locales = { en: locale(), de: locale(), fr: locale() }
      const answer = await this.#running.api
        .ask('PUT', '/templates/turning', { body: { locales } })
        .catch(() => undefined)
      if (answer?.status !== 200) return
    }
  }

  /** Fills the disk, and makes room again, every other time after a kill. */
  async fill(filling: number, disk: string): Promise<void> {
    const ballast = join(disk, 'ballast')
    const label = `full disk ${filling}`
    const filled = sleep(lifeMs / 2).then(() => fillUp(ballast))
    const received = await this.#live(label)
    await filled
    // These changes use up the remaining space.
    received.push(...(await this.#live(label)))
    const isKilled = filling % 2 === 1
    if (isKilled) await this.#server?.kill()
    await rm(ballast)
    await (isKilled ? this.#startAgain(label) : this.#untilOk(label))
    if (this.#isLost) return
    this.counts[isKilled ? 'killed' : 'continued']++
    await this.#mustHold(label, received)
  }

  /** Runs the workloads, at least until `other` is done. Returns the events that a subscriber received. */
  async #live(label: string, other?: Promise<void>): Promise<StreamEvent[]> {
    const runner = this.#running
    const received: StreamEvent[] = []
    const onEvent = (event: StreamEvent) => received.push(event)
    const { authorization, api } = runner
    const dashboard = new Dashboard({ url: api.url, from: 'now', authorization, isFolding: false, onEvent })
    dashboard.start()
    const stopWork = runner.work()
    await Promise.all([sleep(lifeMs), other])
    await stopWork()
    dashboard.stop()
    if (this.#server?.isEnded) this.#wrong(label, `the server ended by itself: ${this.#server.lines.join('\n')}`)
    return received
  }

  /** Sends a write, which must succeed or be refused as in the contract. After a refusal, reads must succeed. */
  async #mustAnswer(label: string, refusals: number): Promise<void> {
    const { api } = this.#running
    const body = { name: 'S', properties: {} }
    const write = await api.ask('PUT', '/schemas/asked', { body }).catch(() => undefined)
    if (refusals === 0) this.counts.unharmed++
    if (write?.status === 200) {
      if (refusals > 0) this.counts.tookWrites++
      return
    }
    this.counts.readOnly++
    if (write?.status !== 503 || !(Number(write.headers['retry-after']) > 0))
      this.#wrong(label, `a write was answered ${write?.status} ${write?.text}`)
    // The server first undoes the changes of a failed commit.
    let read: HttpAnswer | undefined
    const isAnswered = async () => {
      read = await api.ask('GET', '/schemas').catch(() => undefined)
      return read?.status !== 503
    }
    await until(isAnswered, roomMsMax, 100)
    if (read?.status !== 200) this.#wrong(label, `reading was answered ${read?.status} ${read?.text}`)
  }

  async #mustHold(label: string, received: readonly StreamEvent[]): Promise<void> {
    await this.#settle(label)
    await this.#compareStream(label, received)
  }

  async #compareStream(label: string, received: readonly StreamEvent[]): Promise<void> {
    const runner = this.#running
    this.#wrong(label, ...(await readWorkloadStream(runner.api.url, runner, received)).faults)
  }

  async #settle(label: string): Promise<void> {
    this.#wrong(label, ...(await this.#running.check()))
  }

  async #untilOk(label: string): Promise<void> {
    const { api } = this.#running
    const isOk = async () => {
      const answer = await api.ask('GET', '/health/status').catch(() => undefined)
      return answer?.status === 200 && answer.text.includes('"database":{"status":"ok"}')
    }
    if (!(await until(isOk, roomMsMax, 100)))
      this.#wrong(label, `the server did not continue within ${roomMsMax / 1000} s after space was freed`)
  }

  get #running(): WorkloadRunner {
    return this.#runner as WorkloadRunner
  }

  #wrong(label: string, ...faults: readonly string[]): void {
    this.problems.push(...faults.map((text) => `${label}: ${text}`))
  }

  #settings(inFront?: readonly string[]): ServerSettings {
    const own = { environment: { DURABILITY: 'disk' }, isKilledAtExit: true }
    return proofServer(this.#where, inFront ? { ...own, inFront } : own)
  }
}

function fillUp(file: string): void {
  const piece = new Uint8Array(256 * 1024)
  try {
    for (;;) writeFileSync(file, piece, { flag: 'a' })
  } catch {
    // The disk is full.
  }
}

export const diskProof: Proof<{ refusals: number; fillings: number }> = {
  about: 'full disks and disk errors',
  help: `Makes calls on files of the database (write, sync, rename, open, map, read) fail with EIO: a single call, or all from
some call on (by strace, only for the server's process), two of three while the server serves. Also fills a disk (a
small file system; needs root) while the workloads of the kill proof write.`,
  options: [option('--refusals N', 'disk faults', integer(1), 36), option('--fillings N', 'full disks', integer(0), 8)],
  async run({ seed, refusals, fillings }, print) {
    const { problems, skipReason, ...counts } = await proveDisk({ seed, refusals, fillings, print })
    return {
      problems,
      summary: [
        `${refusals} times EIO, ${counts.serving} of them while the server served, ${counts.once} of them a single call: ` +
          `${counts.stopped} did not start and printed the reason, ${counts.readOnly} continued read-only and answered writes ` +
          `with 503, ${counts.tookWrites} continued, ${counts.unharmed} were not affected`,
        skipReason ??
          `${fillings} full disks: ${counts.continued} servers continued by themselves when there was space, ` +
            `${counts.killed} were restarted after a kill`,
        `${counts.acknowledged} writes acknowledged, and found after each fault`,
      ],
    }
  },
}
