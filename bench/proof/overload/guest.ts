import type { LoadedServer } from '#bench/harness/under-load'
import { clientFrame, opcodes } from '#bench/load/frames'
import { RawSocket } from '#bench/load/raw-socket'
import { localAddressOf, unanswered } from '#bench/proof/overload/lone-request'

export interface GuestOptions extends LoadedServer {
  /** Which address of this machine is its own. */
  readonly number: number
  /** Of the upgrade. */
  readonly query: Readonly<Record<string, string>>
  /** What came behind the upgrade; the bytes are only lent. */
  readonly received: (bytes: Buffer) => void
}

const openMsMax = 60_000
const readBytes = 64 * 1024

/** One dashboard of a crowd. */
export class Guest {
  #socket: RawSocket | undefined
  #isClosed = false

  /** Undefined when it was let in; else how it was not: a status, or in words. */
  async enter({ port, authorizations, number, query, received }: GuestOptions): Promise<string | undefined> {
    const opening = RawSocket.open({
      port,
      path: `/api/v1/events?${new URLSearchParams(query)}`,
      authorization: authorizations?.person,
      localAddress: localAddressOf(number),
      readBytes,
      received,
      closed: () => {
        this.#isClosed = true
      },
    }).then(
      (socket) => {
        this.#socket = socket
        return undefined
      },
      (error: Error) => /HTTP\/1\.1 (\d{3})/.exec(error.message)?.[1] ?? unanswered.outside,
    )
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve(unanswered.silent), openMsMax)
    })
    return Promise.race([opening, late]).finally(() => clearTimeout(timer))
  }

  get isInside(): boolean {
    return this.#socket !== undefined && !this.#isClosed
  }

  /** It was let in, and is not there any more. Who reads nothing does not notice. */
  get isCut(): boolean {
    return this.#socket !== undefined && this.#isClosed
  }

  say(text: string): void {
    this.#socket?.write(clientFrame(Buffer.from(text), opcodes.text))
  }

  pong(): void {
    this.#socket?.pong(new Uint8Array(0))
  }

  pause(): void {
    this.#socket?.pause()
  }

  resume(): void {
    this.#socket?.resume()
  }

  leave(): void {
    this.#socket?.close()
  }
}
