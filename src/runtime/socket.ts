/**
 * An open connection that exchanges messages. The websockets of uWebSockets.js (`src/http`) and those of the simulation
 * (`test/simulation`) behave alike under back pressure.
 *
 * Obligations:
 * - A `SocketHandler` gets `opened`, then any other calls, then `closed` exactly once. After `closed`, only
 *   `bufferedBytes` of the socket may be called, which then returns 0.
 * - `subscribe` and `unsubscribe` affect later calls of `publish` only.
 * - Messages sent and published to one socket arrive in the order of the calls.
 * - Above its limit of buffered bytes a socket loses messages. `dropped` is called for the first lost message, and may
 *   only record it. Later messages may still arrive, because the client reads meanwhile. `drained` follows when the
 *   buffer has shrunk.
 * - `end` causes `closed`, possibly before it returns: never call it while iterating over sockets.
 */
export interface Socket {
  /**
   * Returns false if the message was lost because the socket is above its limit. A string is sent as text, bytes as
   * binary.
   */
  send(message: string | Uint8Array): boolean
  /** Runs `task` synchronously, and combines its messages into one write if possible. */
  cork(task: () => void): void
  bufferedBytes(): number
  subscribe(topic: string): void
  unsubscribe(topic: string): void
  ping(): void
  /** Stops reading for a time, if the socket can. The receiver must keep messages that still arrive. */
  pause?(): void
  resume?(): void
  /**
   * For a client that is connected to another node: the message that the other node sends to the client when that node
   * stops, or when it loses its connection to this one.
   */
  setFarewell?(message: Uint8Array): void
  /** Closes with a code and a reason of at most 123 bytes. */
  end(code: number, reason: string): void
  /** The address of the client, for logs. */
  readonly remoteAddress: string
}

export interface SocketPublisher {
  /**
   * Sends to all sockets subscribed now. Strings and bytes are sent as text: bytes must be valid UTF-8, and may change
   * afterwards.
   */
  publish(topic: string, message: string | Uint8Array): void
}

/**
 * Receives the events of one kind of websocket. `Opening` is the result of the upgrade (caller, query, subprotocol).
 */
export interface SocketHandler<Opening> {
  opened(socket: Socket, opening: Opening): void
  /** `data` is valid during the call only. */
  received(socket: Socket, data: Uint8Array, isBinary: boolean): void
  dropped(socket: Socket): void
  drained(socket: Socket): void
  /** The client answered a ping. */
  ponged(socket: Socket): void
  closed(socket: Socket, code: number): void
}
