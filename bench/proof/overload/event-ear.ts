import type { LoadedServer } from '#bench/harness/under-load'
import { FrameReader, opcodes } from '#bench/load/frames'
import { RawSocket } from '#bench/load/raw-socket'
import { count, type Ends } from '#bench/proof/overload/ends'

export interface EventEarOptions extends LoadedServer {
  /** Of the upgrade: from where, and of what. */
  readonly query: Readonly<Record<string, string>>
  /** One call a message; the bytes are only lent. */
  readonly heard: (bytes: Buffer, start: number, end: number) => void
}

const comeBackMs = 200

/** A dashboard that costs little, and comes back to what is said from then on. */
export class EventEar {
  readonly ends: Ends = {}
  readonly #options: EventEarOptions
  #socket: RawSocket | undefined
  #isStopped = false
  #closeCode: number | undefined

  constructor(options: EventEarOptions) {
    this.#options = options
  }

  async open(): Promise<void> {
    const { port, authorizations, query, heard } = this.#options
    const reader = new FrameReader((bytes, start, end, opcode) => {
      if (opcode === opcodes.text) heard(bytes, start, end)
      else if (opcode === opcodes.ping) this.#socket?.pong(bytes.subarray(start, end))
      else if (opcode === opcodes.close) this.#closeCode = end - start >= 2 ? bytes.readUInt16BE(start) : 1005
    })
    this.#socket = await RawSocket.open({
      port,
      path: `/api/v1/events?${new URLSearchParams(query)}`,
      authorization: authorizations?.person,
      received: (bytes) => reader.push(bytes),
      closed: () => this.#closed(),
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#socket?.close()
  }

  #closed(): void {
    if (this.#isStopped || !this.#socket) return
    count(this.ends, this.#closeCode === undefined ? 'cut without a close frame' : `close ${this.#closeCode}`)
    this.#socket = undefined
    setTimeout(() => {
      if (!this.#isStopped) this.open().catch(() => count(this.ends, 'not let in'))
    }, comeBackMs)
  }
}
