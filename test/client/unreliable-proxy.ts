import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { pipeline } from 'node:stream'

/** A proxy that a test can slow down, stall and disconnect. */
export class UnreliableProxy {
  readonly #server = createServer((socket) => this.#accept(socket))
  readonly #sockets = new Set<Socket>()
  #target: number
  #delayMs = 0
  #isDown = false
  #stalled: Promise<void> | undefined
  #resume: () => void = () => {}

  private constructor(target: number) {
    this.#target = target
  }

  static async before(target: number): Promise<UnreliableProxy> {
    const proxy = new UnreliableProxy(target)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Forwards new connections to another port. */
  forwardTo(target: number): void {
    this.#target = target
  }

  /** Breaks all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Breaks all connections and refuses new ones, or accepts new connections again. */
  setDown(isDown: boolean): void {
    this.#isDown = isDown
    if (isDown) this.cut()
  }

  /** Forwards nothing until `resume`, and keeps connections open. */
  stall(): void {
    this.#stalled ??= new Promise((resolve) => {
      this.#resume = resolve
    })
  }

  resume(): void {
    this.#stalled = undefined
    this.#resume()
  }

  /** The delay of each chunk. */
  delay(delayMs: number): void {
    this.#delayMs = delayMs
  }

  heal(): void {
    this.delay(0)
    this.resume()
    this.setDown(false)
  }

  async close(): Promise<void> {
    this.resume()
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #accept(client: Socket): void {
    if (this.#isDown) return void client.destroy()
    const server = connect(this.#target, '127.0.0.1')
    this.#pipe(client, server)
    this.#pipe(server, client)
  }

  #pipe(from: Socket, to: Socket): void {
    this.#sockets.add(from)
    from.on('close', () => {
      this.#sockets.delete(from)
      to.destroy()
    })
    pipeline(
      from,
      (data: AsyncIterable<Buffer>) => this.#delayed(data),
      to,
      () => {},
    )
  }

  async *#delayed(data: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const chunk of data) {
      await this.#wait()
      yield chunk
    }
    await this.#wait()
  }

  async #wait(): Promise<void> {
    if (this.#delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#delayMs))
    while (this.#stalled !== undefined) await this.#stalled
  }
}
