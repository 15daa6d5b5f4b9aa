import { clientFrame, opcodes } from '#bench/load/frames'
import { RawSocket } from '#bench/load/raw-socket'

/** Where a server that makes events by itself is told how many more. */
export const creditPath = '/api/v1/credit'

/** The load's end of it: each message is a count, as text. */
export class Credit {
  readonly #socket: RawSocket

  private constructor(socket: RawSocket) {
    this.#socket = socket
  }

  static async open(port: number): Promise<Credit> {
    return new Credit(await RawSocket.open({ port, path: creditPath, received: () => {} }))
  }

  grant(events: number): void {
    this.#socket.write(clientFrame(Buffer.from(String(events)), opcodes.text))
  }
}
