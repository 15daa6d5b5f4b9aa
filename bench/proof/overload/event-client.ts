import type { ServerTarget } from '#bench/harness/servers'
import { clientFrame, opcodes } from '#bench/load/frames'
import { noAnswer, RawSocket } from '#bench/load/raw-socket'
import { localAddressOf, unanswered } from '#bench/load/single-request'

interface EventClientOptions extends ServerTarget {
  /** Determines the client's address on this machine; absent: the default address. */
  readonly number?: number
  readonly query: Readonly<Record<string, string>>
  /** Called for each message; the bytes are only valid during the call. */
  readonly onText?: (bytes: Buffer, start: number, end: number) => void
  readonly closed?: () => void
}

const openMsMax = 60_000
const readBytes = 64 * 1024

/** A cheap connection of a dashboard. */
export class EventClient {
  #socket: RawSocket | undefined
  #isClosed = false
  #end = ''

  /** Undefined when the upgrade succeeded; otherwise the status or a description. */
  async enter(options: EventClientOptions): Promise<string | undefined> {
    const { port, authorizations, number, query, onText, closed } = options
    return RawSocket.open({
      port,
      path: `/api/v1/events?${new URLSearchParams(query)}`,
      authorization: authorizations?.person,
      answerMsMax: openMsMax,
      ...(number !== undefined && { localAddress: localAddressOf(number), readBytes }),
      onMessage: (bytes, start, end, opcode) => {
        if (opcode === opcodes.text) onText?.(bytes, start, end)
      },
      closed: (how) => {
        this.#isClosed = true
        this.#end = how
        if (this.#socket) closed?.()
      },
    }).then(
      (socket) => {
        this.#socket = socket
        return undefined
      },
      ({ message }: Error) =>
        /HTTP\/1\.1 (\d{3})/.exec(message)?.[1] ??
        (message.includes(noAnswer) ? unanswered.silent : unanswered.outside),
    )
  }

  get isInside(): boolean {
    return this.#socket !== undefined && !this.#isClosed
  }

  /** Whether the connection has ended after a successful upgrade. A client that reads nothing does not notice this. */
  get isCut(): boolean {
    return this.#socket !== undefined && this.#isClosed
  }

  /** How the connection ended; empty before that. */
  get end(): string {
    return this.#end
  }

  sendText(text: string): void {
    this.#socket?.write(clientFrame(Buffer.from(text), opcodes.text))
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
