import type { Socket, SocketPublisher } from '#runtime/socket'

/** A dashboard's socket that takes everything, and says what it got. */
export class TestSocket implements Socket {
  readonly remoteAddress = '127.0.0.1'
  readonly heard: { readonly type: string; readonly [field: string]: unknown }[] = []
  readonly topics = new Set<string>()
  /** How it was closed; undefined while it is open. */
  endCode: number | undefined
  readonly #closed: (socket: TestSocket) => void

  constructor(closed: (socket: TestSocket) => void) {
    this.#closed = closed
  }

  send(message: string | Uint8Array): boolean {
    this.heard.push(JSON.parse(typeof message === 'string' ? message : Buffer.from(message).toString()))
    return true
  }

  together(task: () => void): void {
    task()
  }

  bufferedBytes(): number {
    return 0
  }

  subscribe(topic: string): void {
    this.topics.add(topic)
  }

  unsubscribe(topic: string): void {
    this.topics.delete(topic)
  }

  ping(): void {}

  end(code: number): void {
    if (this.endCode !== undefined) return
    this.endCode = code
    this.#closed(this)
  }

  get types(): readonly string[] {
    return this.heard.map(({ type }) => type)
  }
}

/** All that are open. */
export class TestSockets implements SocketPublisher {
  readonly open = new Set<TestSocket>()

  publish(topic: string, message: string | Uint8Array): void {
    for (const socket of this.open) if (socket.topics.has(topic)) socket.send(message)
  }

  add(closed: (socket: TestSocket) => void): TestSocket {
    const socket = new TestSocket((ended) => {
      this.open.delete(ended)
      closed(ended)
    })
    this.open.add(socket)
    return socket
  }
}
