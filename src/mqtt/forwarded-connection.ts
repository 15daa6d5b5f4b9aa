import type { Transport } from '#mqtt/transport'
import { closeCodes } from '#runtime/close-codes'
import type { Socket } from '#runtime/socket'

/** The connection to the node that answers the packets of a client. */
interface Carrier {
  /** Returns false if too many bytes wait. */
  send(data: Uint8Array, isBinary: boolean): boolean
  /** The client can take further bytes. */
  drained(): void
  leave(code: number): void
}

/**
 * A client of an MQTT port of this node, whose packets the owner of the cluster answers. To the owner it looks like a
 * websocket.
 */
export class ForwardedConnection implements Socket {
  readonly #transport: Transport
  #carrier: Carrier | undefined
  #isClosed = false

  /** `carry` resolves to undefined if this node has become the owner. The client then has to connect again. */
  constructor(transport: Transport, carry: (client: Socket) => Promise<Carrier | undefined>) {
    this.#transport = transport
    transport.pause()
    void this.#open(carry)
  }

  async #open(carry: (client: Socket) => Promise<Carrier | undefined>): Promise<void> {
    // The client also has to connect again if `carry` rejects.
    this.#carrier = await carry(this).catch(() => undefined)
    if (!this.#carrier) this.#transport.close()
    else if (this.#isClosed) this.#carrier.leave(closeCodes.tryLater.code)
    this.#transport.resume()
  }

  /** Bytes of the client. */
  received(chunk: Uint8Array): void {
    if (this.#carrier?.send(chunk, true) === false) this.end()
  }

  /** The transport can take further bytes. */
  drained(): void {
    this.#carrier?.drained()
  }

  /** The client has gone. */
  closed(): void {
    this.#isClosed = true
    this.#carrier?.leave(closeCodes.tryLater.code)
  }

  get remoteAddress(): string {
    return this.#transport.address
  }

  send(message: string | Uint8Array): boolean {
    this.#transport.send(typeof message === 'string' ? Buffer.from(message) : message)
    return true
  }

  cork(task: () => void): void {
    task()
  }

  bufferedBytes(): number {
    return this.#transport.unsentBytes()
  }

  pause(): void {
    this.#transport.pause()
  }

  resume(): void {
    this.#transport.resume()
  }

  end(): void {
    // The transport may still deliver bytes. The owner must not get bytes after a gap.
    this.#carrier?.leave(closeCodes.tryLater.code)
    this.#carrier = undefined
    this.#transport.close()
  }

  /** Pings and topics of websockets have no meaning here: MQTT has its own. */
  ping(): void {}

  subscribe(): void {}

  unsubscribe(): void {}
}
