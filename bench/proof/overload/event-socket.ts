import type { ServerTarget } from '#bench/harness/servers'
import { opcodes } from '#bench/load/frames'
import { noAnswer, RawSocket } from '#bench/load/raw-socket'
import { localAddressOf, unanswered } from '#bench/load/single-request'

interface EventSocketOptions extends ServerTarget {
  /** Determines the client's address on this machine; absent: the default address. */
  readonly number?: number
  readonly query: Readonly<Record<string, string>>
  /** Called for each message; the bytes are only valid during the call. */
  readonly onText: (bytes: Buffer, start: number, end: number) => void
  /** Called when the connection has ended. A client that reads nothing does not notice this. */
  readonly closed: (how: string) => void
}

const openMsMax = 60_000
const readBytes = 64 * 1024

/** Opens a cheap connection of a dashboard. Resolves with the status or a description if the upgrade did not succeed. */
export async function openEventSocket(options: EventSocketOptions): Promise<RawSocket | string> {
  const { port, authorizations, number, query, onText, closed } = options
  let isInside = false
  try {
    const socket = await RawSocket.open({
      port,
      path: `/api/v1/events?${new URLSearchParams(query)}`,
      authorization: authorizations?.person,
      answerMsMax: openMsMax,
      ...(number !== undefined && { localAddress: localAddressOf(number), readBytes }),
      onMessage: (bytes, start, end, opcode) => {
        if (opcode === opcodes.text) onText(bytes, start, end)
      },
      closed: (how) => {
        if (isInside) closed(how)
      },
    })
    isInside = true
    return socket
  } catch (error) {
    const { message } = error as Error
    const [, status] = /HTTP\/1\.1 (\d{3})/.exec(message) ?? []
    return status ?? (message.includes(noAnswer) ? unanswered.silent : unanswered.outside)
  }
}
