/**
 * An open websocket as the rooms see it, and what they are told of it. Two implementations: uWebSockets.js
 * (`src/http`), simulated with the same behaviour under back pressure (`test/simulation`).
 *
 * Obligations
 * - A `SocketRoom` is told `opened`, then any number of the others, then `closed` exactly once. After `closed` no method
 *   of the socket may be called but `bufferedBytes` (0).
 * - `subscribe` and `unsubscribe` hold for every `publish` that is called after them, for none before.
 * - Order: what is sent and published to one socket arrives in the order of the calls.
 * - Over its limit of buffered bytes a socket loses messages: the room's `dropped` is called at the first one lost of each
 *   stretch, and may only remember. What is published next may arrive all the same: the other side reads meanwhile. `drained` follows when the buffer has shrunk.
 * - `end` makes `closed` happen, possibly before `end` returns: never call it while iterating over sockets.
 */
export interface Socket {
  /** False when the message was lost because the socket is over its limit. Text if a string, binary if bytes. */
  send(message: string | Uint8Array): boolean
  /** What `task` sends to this socket goes out in one piece, where that is cheaper. Runs it at once. */
  together(task: () => void): void
  bufferedBytes(): number
  subscribe(topic: string): void
  unsubscribe(topic: string): void
  ping(): void
  /** Closes with a code and a reason of at most 123 bytes. */
  end(code: number, reason: string): void
  /** The other side's address, for logs. */
  readonly remoteAddress: string
}

export interface SocketPublisher {
  /**
   * To every socket subscribed now. A string goes out as text, bytes as text too: they must be valid UTF-8, and may change
   * afterwards.
   */
  publish(topic: string, message: string | Uint8Array): void
}

/** What happens to the sockets of one kind. `Opening` is what the upgrade decided (caller, query, subprotocol). */
export interface SocketRoom<Opening> {
  opened(socket: Socket, opening: Opening): void
  /** `data` is only valid during the call. */
  received(socket: Socket, data: Uint8Array, isBinary: boolean): void
  dropped(socket: Socket): void
  drained(socket: Socket): void
  /** The other side answered a ping. */
  ponged(socket: Socket): void
  closed(socket: Socket, code: number): void
}
