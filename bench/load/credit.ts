import { clientFrame, opcodes } from '#bench/load/frames'
import { RawSocket } from '#bench/load/raw-socket'

/** For a server that makes events itself: each message is a number of further events to make, as text. */
export const creditPath = '/api/v1/credit'

/** The load's end: grants events. */
export async function openCredit(port: number): Promise<(events: number) => void> {
  const socket = await RawSocket.open({ port, path: creditPath, received: () => {} })
  return (events) => socket.write(clientFrame(Buffer.from(String(events)), opcodes.text))
}

/**
 * The server's end: makes all granted events after the messages of one turn of the event loop, because uWebSockets.js
 * makes one system call for each message published in a message handler.
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
