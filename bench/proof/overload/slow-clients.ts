import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { callApi } from '#bench/harness/identity'
import { serveFunctions } from '#bench/harness/remote'
import type { ServerTarget } from '#bench/harness/servers'
import { count, type EndCounts } from '#bench/load/end-counts'
import { localAddressOf, unanswered } from '#bench/load/single-request'
import { type SlowPhase, slowPhases } from '#bench/proof/overload/slow-phases'
import { sleep } from '#bench/time'

/** Clients that hold connections by being slow, in every phase of a connection. */
interface SlowClientsOptions extends ServerTarget {
  readonly each: number
}

const dripEveryMs = 1_000
/** The time for clients that read nothing before to read everything. */
const readMsMax = 15_000
const closeFrame = 0x88
/** How many characters of the beginning of an answer are kept. */
const keptCharacters = 16 * 1024
const whole = '200, whole'
const chunksEnd = '0\r\n\r\n'
/** Fits into the metadata of a device, which may have 64 KiB. */
const noteCharacters = 60 * 1024
/** How many times larger an answer is than the kernel's buffers for a connection. */
const answerBuffers = 2

let options: SlowClientsOptions
let clients: readonly SlowClient[] = []

serveFunctions({
  async open(given: SlowClientsOptions): Promise<void> {
    options = given
    await createMetadata(given)
  },

  async run({ seconds }: { readonly seconds: number }): Promise<EndCounts> {
    const ends: EndCounts = {}
    clients = Object.entries(slowPhases).flatMap(([what, phase], place) =>
      Array.from({ length: options.each }, (_, number) => new SlowClient(what, phase, place * options.each + number)),
    )
    const drip = setInterval(() => {
      for (const client of clients) client.drip()
    }, dripEveryMs)
    const over = performance.now() + seconds * 1000
    while (performance.now() < over && clients.some((client) => !client.isOver)) {
      await sleep(100)
    }
    clearInterval(drip)
    for (const client of clients) client.readAll()
    const read = performance.now() + readMsMax
    while (performance.now() < read && clients.some((client) => client.isReading)) {
      await sleep(100)
    }
    for (const client of clients) count(ends, client.ended(seconds))
    return ends
  },

  close(): void {
    for (const client of clients) client.cut()
  },
})

/** Creates devices with so much metadata that a list of it exceeds the kernel's buffers. */
async function createMetadata({ port, authorizations }: ServerTarget): Promise<void> {
  const devices = Math.ceil((answerBuffers * bufferedBytesMax()) / noteCharacters)
  for (let number = 0; number < devices; number++) {
    const body = { deviceIdentifier: `NOTED-${number}`, meta: { note: 'a'.repeat(noteCharacters) } }
    await callApi(port, '/devices', { person: authorizations?.person, body })
  }
}

/** Size of a connection's send buffer and receive buffer. tcp(7) */
function bufferedBytesMax(): number {
  const largest = (which: string) => Number(readFileSync(`/proc/sys/net/ipv4/${which}`, 'latin1').split(/\s+/)[2])
  // The initial size: the receive buffer of a client that does not read does not grow.
  const first = Number(readFileSync('/proc/sys/net/ipv4/tcp_rmem', 'latin1').split(/\s+/)[1])
  return largest('tcp_wmem') + first
}

class SlowClient {
  isOver = false
  readonly #what: string
  readonly #phase: SlowPhase
  readonly #socket: Socket
  /** The beginning and the end of the received bytes, and their number. */
  #received = ''
  #last = ''
  #receivedBytes = 0
  #isBehind = false
  #error: string | undefined
  readonly #startedAt = performance.now()
  #endedAt = 0
  #readTimer: NodeJS.Timeout | undefined

  constructor(what: string, phase: SlowPhase, number: number) {
    this.#what = what
    this.#phase = phase
    const localAddress = localAddressOf(number)
    this.#socket = connect({ host: '127.0.0.1', port: options.port, localAddress, noDelay: true })
    this.#socket.once('connect', () => this.#socket.write(Buffer.from(phase.bytes(options, number), 'latin1')))
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#error = error.code
    })
    this.#socket.once('close', () => {
      this.isOver = true
      this.#endedAt = performance.now()
      clearTimeout(this.#readTimer)
    })
    this.#socket.on('data', (piece) => this.#readAll(piece))
    if (!phase.isUnread) return
    this.#socket.pause()
    this.#readTimer = setTimeout(() => this.readAll(), phase.withinS * 1000)
  }

  /** Whether a client that read nothing before is now reading. */
  get isReading(): boolean {
    return this.#phase.isUnread === true && !this.isOver
  }

  drip(): void {
    const { drip, behind } = this.#phase
    if (drip === undefined || this.isOver || this.#socket.connecting || (behind && !this.#isBehind)) return
    this.#socket.write(drip)
  }

  readAll(): void {
    if (!this.isOver) this.#socket.resume()
  }

  cut(): void {
    clearTimeout(this.#readTimer)
    this.#socket.destroy()
  }

  /** How the connection ended, with its phase. `seconds`: for how long the client was slow. */
  ended(seconds: number): string {
    const { isUnread, withinS } = this.#phase
    const tookS = (this.#endedAt - this.#startedAt) / 1000
    const isHeld = seconds < withinS && (isUnread ? this.#end() === whole : !this.isOver)
    if (isHeld) return `${this.#what}: still open at the end`
    if (!this.isOver) return `${this.#what}: held for too long`
    return `${this.#what}: ${tookS > withinS && !isUnread ? 'held for too long, then ' : ''}${this.#end()}`
  }

  #readAll(piece: Buffer): void {
    const text = piece.toString('latin1')
    if (this.#received.length < keptCharacters) this.#received += text
    this.#last = (this.#last + text).slice(-chunksEnd.length)
    this.#receivedBytes += piece.length
    const { behind } = this.#phase
    if (!behind || this.#isBehind || !behind.received.test(this.#received)) return
    this.#isBehind = true
    this.#received = this.#received.replace(behind.received, '')
    this.#socket.write(Buffer.from(behind.bytes, 'latin1'))
  }

  #end(): string {
    if (this.#isBehind) return closeCodeIn(Buffer.from(this.#received, 'latin1')) ?? 'cut without a close frame'
    const status = /^HTTP\/1\.1 (\d{3})/.exec(this.#received)?.[1]
    if (status === '200') return this.#isWhole() ? whole : '200, cut'
    return status ?? (this.#error === undefined ? unanswered.closed : unanswered.reset)
  }

  /** Whether the answer is complete, by its chunks or its length. */
  #isWhole(): boolean {
    const [head = ''] = this.#received.split('\r\n\r\n', 1)
    const length = /^content-length: (\d+)$/im.exec(head)?.[1]
    if (length === undefined) return this.#last === chunksEnd
    return this.#receivedBytes === head.length + 4 + Number(length)
  }
}

/** The close code in the received frames: the close frame follows pings that the client did not answer. */
function closeCodeIn(bytes: Buffer): string | undefined {
  for (let at = 0; at + 2 <= bytes.length; at += 2 + ((bytes[at + 1] as number) & 0x7f)) {
    if (bytes[at] === closeFrame) return `close ${bytes.readUInt16BE(at + 2)}`
  }
  return undefined
}
