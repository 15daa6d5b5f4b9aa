import type { Hub } from '#events/hub'
import type { Socket, SocketPublisher } from '#runtime/socket'

/** A message, as the client reads it. */
export interface ReceivedMessage {
  readonly type: string
  readonly offset: number
  readonly epoch?: string
  readonly recovered?: boolean
  readonly deviceIdentifier?: string
  readonly serviceIdentifier?: string
  readonly updates?: readonly { readonly propId: number; readonly tag: string; readonly value?: number }[]
}

/**
 * Sockets with a limited buffer, which lose messages beyond it as real sockets do. The hub is notified of the first
 * loss in a row, and must use no socket in this call. The test decides when the client reads.
 */
export class StallingSockets implements SocketPublisher {
  readonly sockets = new Set<StallingSocket>()
  hub: Hub | undefined
  isDropping = false

  open(limitBytes = Number.POSITIVE_INFINITY): StallingSocket {
    const socket = new StallingSocket(this, limitBytes)
    this.sockets.add(socket)
    return socket
  }

  publish(topic: string, message: string | Uint8Array): void {
    if (this.isDropping) throw new Error('a publish within `dropped`')
    for (const socket of this.sockets) if (socket.topics.has(topic)) socket.take(textOf(message))
  }
}

export class StallingSocket implements Socket {
  readonly remoteAddress = 'test'
  readonly topics = new Set<string>()
  readonly #sockets: StallingSockets
  readonly #limitBytes: number
  readonly #unread: string[] = []
  #unreadBytes = 0
  #isLosing = false
  isOpen = true
  /** All messages that were not lost, read or unread. */
  readonly sent: ReceivedMessage[] = []
  /** The messages that the client has read. */
  readonly received: ReceivedMessage[] = []
  lostCount = 0

  constructor(sockets: StallingSockets, limitBytes: number) {
    this.#sockets = sockets
    this.#limitBytes = limitBytes
  }

  send(message: string | Uint8Array): boolean {
    this.#mayBeUsed('send')
    return this.take(textOf(message))
  }

  cork(task: () => void): void {
    this.#mayBeUsed('together')
    task()
  }

  bufferedBytes(): number {
    return this.#unreadBytes
  }

  subscribe(topic: string): void {
    this.#mayBeUsed('subscribe')
    this.topics.add(topic)
  }

  unsubscribe(topic: string): void {
    this.#mayBeUsed('unsubscribe')
    this.topics.delete(topic)
  }

  ping(): void {
    this.#mayBeUsed('ping')
  }

  end(): void {
    this.#mayBeUsed('end')
    this.close()
  }

  /** Puts the message into the buffer, or loses it. */
  take(message: string): boolean {
    if (this.#unreadBytes > this.#limitBytes) {
      this.lostCount++
      if (!this.#isLosing) this.#lose()
      return false
    }
    this.#unread.push(message)
    this.#unreadBytes += message.length
    this.sent.push(JSON.parse(message))
    return true
  }

  /** Lets the client read some messages; by default all. */
  read(countMax = Number.POSITIVE_INFINITY): void {
    const read = this.#unread.splice(0, Math.min(countMax, this.#unread.length))
    if (read.length === 0 || !this.isOpen) return
    for (const message of read) {
      this.#unreadBytes -= message.length
      this.received.push(JSON.parse(message))
    }
    this.#isLosing = false
    this.#sockets.hub?.drained(this)
  }

  /** The offsets of all received messages except STREAM. */
  get offsets(): readonly number[] {
    return this.received.filter(({ type }) => type !== 'STREAM').map(({ offset }) => offset)
  }

  close(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.#unread.length = 0
    this.#unreadBytes = 0
    this.topics.clear()
    this.#sockets.sockets.delete(this)
    this.#sockets.hub?.remove(this)
  }

  #lose(): void {
    this.#isLosing = true
    this.#sockets.isDropping = true
    try {
      this.#sockets.hub?.dropped(this)
    } finally {
      this.#sockets.isDropping = false
    }
  }

  #mayBeUsed(method: string): void {
    if (!this.isOpen) throw new Error(`${method} on a closed socket`)
    if (this.#sockets.isDropping) throw new Error(`${method} within \`dropped\``)
  }
}

function textOf(message: string | Uint8Array): string {
  return typeof message === 'string' ? message : Buffer.from(message).toString()
}
