import { clientFrame, opcodes } from '#bench/load/frames'
import { RawSocket } from '#bench/load/raw-socket'

/** For a server that makes events itself: each message is the number of further events, as text. */
export const creditPath = '/api/v1/credit'

/** The end of the load: grants events. */
export async function openCredit(port: number): Promise<(events: number) => void> {
  const socket = await RawSocket.open({ port, path: creditPath, received: () => {} })
  return (events) => socket.write(clientFrame(Buffer.from(String(events)), opcodes.text))
}

/**
 * The end of the server: makes the granted events in one go after the messages of this turn of the event loop, because
 * uWebSockets.js sends with one system call each what a message handler publishes.
 */
export class Credited {
  readonly #make: (events: number) => void
  #due = 0

  constructor(make: (events: number) => void) {
    this.#make = make
  }

  grant(message: Uint8Array): void {
    if (this.#due === 0) setImmediate(() => this.#makeDue())
    this.#due += Number(Buffer.from(message).toString('latin1'))
  }

  #makeDue(): void {
    const events = this.#due
    this.#due = 0
    this.#make(events)
  }
}
