import type { WebSocket } from 'uWebSockets.js'
import type { Socket } from '#runtime/socket'
import type { World } from '#runtime/world'

/** The state shared by all websockets of one path. */
export interface SocketRoute {
  readonly world: World
  readonly lostMessageGuard: LostMessageGuard
  /** Called once for each opened socket, when the server ended it or the client disconnected. */
  closed(socket: UwsSocket, code: number): void
}

export interface SocketSource {
  readonly remoteAddress: string
  readonly requestId: string
}

interface EndingSocket {
  readonly websocket: WebSocket<unknown>
  readonly reason: string
  readonly cancel: () => void
}

/** A close frame holds 125 bytes, two of them the code. RFC 6455 §5.5. */
const reasonBytesMax = 123
/** The time for the client to read sent messages after the socket ended. */
const lingerMs = 10_000

/**
 * Implements `Socket` over one websocket. After `closed` every method does nothing, except that `cork` still runs its
 * task: uWebSockets.js would throw on any call, and both sides may end the socket at the same time.
 */
export class UwsSocket implements Socket {
  readonly remoteAddress: string
  /** The id of its upgrade request. */
  readonly requestId: string
  /**
   * The code for `closed`, stored here because uWebSockets.js gives 1006 for a socket that it had to close by force.
   */
  endCode: number | undefined
  /** A message was lost, and the buffer has not shrunk since. */
  isBehind = false
  #websocket: WebSocket<unknown> | undefined
  /** Set while an ended socket still has unsent messages, until it is closed. */
  #ending: EndingSocket | undefined
  readonly #route: SocketRoute

  constructor(websocket: WebSocket<unknown>, source: SocketSource, route: SocketRoute) {
    this.#websocket = websocket
    this.remoteAddress = source.remoteAddress
    this.requestId = source.requestId
    this.#route = route
  }

  get isOpen(): boolean {
    return this.#websocket !== undefined
  }

  /** Called by the close handler. The websocket must not be used from here on. */
  disconnected(code: number): void {
    this.#ending?.cancel()
    this.#ending = undefined
    this.#release(this.endCode ?? code)
  }

  /** Called by the drain handler. */
  drained(): void {
    const ending = this.#ending
    if (ending?.websocket.getBufferedAmount() === 0) ending.websocket.end(this.endCode, ending.reason)
  }

  send(message: string | Uint8Array): boolean {
    this.#route.lostMessageGuard.refuseDuringReport('send')
    return this.#websocket !== undefined && this.#websocket.send(message, typeof message !== 'string') !== lost
  }

  /** An exception must not pass through uWebSockets.js, so it is caught inside and thrown again outside. */
  cork(task: () => void): void {
    this.#route.lostMessageGuard.refuseDuringReport('cork')
    if (!this.#websocket) {
      task()
      return
    }
    let failure: { readonly error: unknown } | undefined
    this.#websocket.cork(() => {
      try {
        task()
      } catch (error) {
        failure = { error }
      }
    })
    if (failure) throw failure.error
  }

  bufferedBytes(): number {
    return this.#websocket?.getBufferedAmount() ?? 0
  }

  subscribe(topic: string): void {
    this.#route.lostMessageGuard.refuseDuringReport('subscribe')
    this.#websocket?.subscribe(topic)
  }

  unsubscribe(topic: string): void {
    this.#route.lostMessageGuard.refuseDuringReport('unsubscribe')
    this.#websocket?.unsubscribe(topic)
  }

  ping(): void {
    this.#route.lostMessageGuard.refuseDuringReport('ping')
    this.#websocket?.ping()
  }

  end(code: number, reason: string): void {
    this.#route.lostMessageGuard.refuseDuringReport('end')
    const websocket = this.#websocket
    if (!websocket) return
    this.endCode = code
    if (websocket.getBufferedAmount() === 0) websocket.end(code, cut(reason))
    else this.#linger(websocket, code, cut(reason))
  }

  /**
   * Sends the close frame when the buffer is empty. uWebSockets.js cannot end a socket with unsent data safely: it
   * waits for the client without a time limit, and drops the close frame if the buffer is above its limit.
   */
  #linger(websocket: WebSocket<unknown>, code: number, reason: string): void {
    const { world } = this.#route
    const cancel = world.after(lingerMs, () => {
      world.asInput(() => {
        if (this.#ending) websocket.close()
      })
    })
    this.#ending = { websocket, reason, cancel }
    for (const topic of websocket.getTopics()) websocket.unsubscribe(topic)
    this.#release(code)
  }

  #release(code: number): void {
    if (!this.#websocket) return
    this.#websocket = undefined
    this.#route.closed(this, code)
  }
}

/** The result of a send in uWebSockets.js: 1 sent, 0 buffered, 2 lost. */
const lost = 2

/** Cuts between characters: half a character is invalid UTF-8, for which a client must fail the connection. */
function cut(reason: string): string {
  const bytes = Buffer.from(reason)
  if (bytes.byteLength <= reasonBytesMax) return reason
  let end = reasonBytesMax
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

/**
 * Refuses calls while uWebSockets.js reports a lost message. During that report, ending or unsubscribing any socket
 * kills the process (SIGBUS, every time).
 */
export class LostMessageGuard {
  #isOn = false

  /** @throws Error during a report */
  refuseDuringReport(method: string): void {
    if (this.#isOn) throw new Error(`${method} was called inside the handler's dropped, which may only set state`)
  }

  during(task: () => void): void {
    this.#isOn = true
    try {
      task()
    } finally {
      this.#isOn = false
    }
  }
}

/** The number of sockets that are closed before other work runs. */
const batchSize = 200

/**
 * Closes all sockets that are open now, in batches, so that timers and answers run in between. It uses a copy of the
 * list: ending a socket calls `closed` of its handler at once, which may end others.
 */
export async function closeAll(open: Iterable<UwsSocket>, world: World, code: number, reason: string): Promise<void> {
  const sockets = [...open]
  for (let start = 0; start < sockets.length; start += batchSize) {
    for (const socket of sockets.slice(start, start + batchSize)) socket.end(code, reason)
    await new Promise<void>((resolve) => {
      world.after(0, resolve)
    })
  }
}
