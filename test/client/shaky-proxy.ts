import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A network between a client and a server on this machine that stalls, is slow, and breaks, as it is told. */
export class ShakyProxy {
  readonly #server = createServer((socket) => this.#accept(socket))
  readonly #sockets = new Set<Socket>()
  #target: number
  #delayMs = 0
  #isDown = false
  #stalled: Promise<void> | undefined
  #resume: () => void = () => {}
  /** Connections that were ever made. */
  accepted = 0

  private constructor(target: number) {
    this.#target = target
  }

  static async before(target: number): Promise<ShakyProxy> {
    const proxy = new ShakyProxy(target)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The server came back elsewhere. */
  lead(target: number): void {
    this.#target = target
  }

  /** Everything breaks, in the middle of whatever was said. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Nobody comes through any more, or again. */
  down(isDown: boolean): void {
    this.#isDown = isDown
    if (isDown) this.cut()
  }

  /** Nothing arrives, either way, and nothing breaks. */
  stall(): void {
    this.#stalled ??= new Promise((resolve) => {
      this.#resume = resolve
    })
  }

  resume(): void {
    this.#stalled = undefined
    this.#resume()
  }

  /** Each piece arrives so much later. */
  delay(delayMs: number): void {
    this.#delayMs = delayMs
  }

  heal(): void {
    this.delay(0)
    this.resume()
    this.down(false)
  }

  async close(): Promise<void> {
    this.resume()
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #accept(near: Socket): void {
    this.accepted++
    if (this.#isDown) {
      near.destroy()
      return
    }
    const far = connect(this.#target, '127.0.0.1')
    this.#lead(near, far)
    this.#lead(far, near)
  }

  #lead(from: Socket, to: Socket): void {
    this.#sockets.add(from)
    from.on('data', (data) => {
      from.pause()
      void this.#pass().then(() => {
        to.write(data)
        from.resume()
      })
    })
    from.on('end', () => void this.#pass().then(() => to.end()))
    from.on('error', () => {})
    from.on('close', () => {
      this.#sockets.delete(from)
      to.destroy()
    })
  }

  async #pass(): Promise<void> {
    if (this.#delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#delayMs))
    while (this.#stalled !== undefined) await this.#stalled
  }
}
