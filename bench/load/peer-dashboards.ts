import type { Authorizations } from '#bench/harness/identity'
import { HeardCounts } from '#bench/load/heard-counts'
import { MessageCounter, MessageReader } from '#bench/load/messages'
import type { Protocol } from '#bench/load/peer-protocols'
import { PeerSocket } from '#bench/load/peer-socket'
import { numberOf } from '#bench/load/update-template'

export interface PeerDashboardsOptions {
  readonly protocol: Protocol
  readonly port: number
  readonly count: number
  readonly authorizations?: Authorizations | undefined
  /** So many of them, evenly spread, read every delivery: told the number that its last value carries. */
  readonly witnesses: number
  readonly heard: (number: number) => void
  /** Some of them heard something; called often. */
  readonly moved: () => void
}

/** So many sockets knock at a time. */
const opensAtOnce = 64
const colon = 0x3a
/** Connections of publishers have lower numbers. */
const firstNumber = 1_000

/** Who hears everything, of any protocol: most count, some read. */
export class PeerDashboards {
  bytes = 0
  #failure: Error | undefined
  #isClosing = false
  readonly #options: PeerDashboardsOptions
  readonly #counts: HeardCounts
  readonly #sockets: PeerSocket[] = []

  constructor(options: PeerDashboardsOptions) {
    this.#options = options
    this.#counts = new HeardCounts(options.count)
  }

  /** Opens as many more, of all that were announced. */
  async open(count = this.#options.count): Promise<void> {
    const last = this.#sockets.length + count
    for (let first = this.#sockets.length; first < last; first += opensAtOnce) {
      const places = Array.from({ length: Math.min(opensAtOnce, last - first) }, (_, index) => first + index)
      await Promise.all(places.map((place) => this.#open(place)))
    }
  }

  check(): void {
    if (this.#failure) throw this.#failure
  }

  get heardByAll(): number {
    return this.#counts.least
  }

  get deliveries(): number {
    return this.#counts.sum
  }

  /** Counts anew. */
  clear(): void {
    this.#counts.clear()
    this.bytes = 0
  }

  /** Waits until each has heard so many. */
  async hearing(changes: number, timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs
    while (this.heardByAll < changes) {
      this.check()
      if (performance.now() > end) throw new Error(`a dashboard heard ${this.heardByAll} of ${changes} changes`)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  close(): void {
    this.#isClosing = true
    for (const socket of this.#sockets) socket.close()
  }

  async #open(place: number): Promise<void> {
    const { protocol, port, count, witnesses, moved, authorizations } = this.#options
    const { lengthOf } = protocol
    const other = (bytes: Buffer, at: number, end: number) => {
      const answer = protocol.answerTo?.(bytes, at, end)
      if (answer) this.#sockets[place]?.write(answer)
    }
    const isWitness = place % Math.max(1, Math.floor(count / witnesses)) === 0
    const reader = isWitness
      ? new MessageReader(lengthOf, (bytes, _, end) => this.#witness(bytes, end), other)
      : new MessageCounter(lengthOf, other)
    this.#sockets[place] = await PeerSocket.open({
      port,
      steps: await protocol.subscribe({ port, number: firstNumber + place, authorizations }),
      received: (bytes) => {
        this.bytes += bytes.length
        this.#counts.add(place, reader.push(bytes))
        moved()
      },
      closed: () => {
        if (!this.#isClosing) this.#failure ??= new Error('the server closed a dashboard')
      },
    })
  }

  #witness(bytes: Buffer, end: number): void {
    let at = end
    while (bytes[at - 1] !== colon) at--
    const value = Number.parseFloat(bytes.toString('latin1', at, end))
    if (Number.isFinite(value)) this.#options.heard(numberOf(value))
    else this.#failure ??= new Error(`a dashboard heard ${bytes.toString('latin1', end - 300, end)}`)
  }
}
