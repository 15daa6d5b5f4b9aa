import { connect, type Socket } from 'node:net'

/** A TCP client that sends exactly the given bytes, and reads at once unless its socket is paused. */
export class RawClient {
  readonly socket: Socket
  text = ''
  receivedBytes = 0
  isClosed = false

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('data', (chunk) => {
      this.receivedBytes += chunk.byteLength
      if (this.text.length < 1_000_000) this.text += chunk.toString('latin1')
    })
    // A reset counts as closed.
    this.socket.on('error', () => {})
    this.socket.on('close', () => {
      this.isClosed = true
    })
  }

  send(text: string | Uint8Array): this {
    this.socket.write(text)
    return this
  }

  async until(holds: (client: this) => boolean): Promise<this> {
    while (!holds(this)) await new Promise((resolve) => setTimeout(resolve, 5))
    return this
  }

  async closed(): Promise<string> {
    await this.until(() => this.isClosed)
    return this.text
  }

  /** Waits until this many answers have begun. */
  async answers(count: number): Promise<string> {
    await this.until(() => this.text.split('HTTP/1.1 ').length > count || this.isClosed)
    return this.text
  }

  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]))
  }
}
