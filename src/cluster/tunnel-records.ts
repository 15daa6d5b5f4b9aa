import type { World } from '#runtime/world'

/** The kinds of records between two nodes about one device connection, with their data in parentheses. */
export const recordKinds = {
  /** From the node of the device: a device connects (JSON of `TunnelRequest`). */
  open: 0,
  /** From the owner: the connection is accepted (JSON of the headers for its answer). */
  accepted: 1,
  /** From the owner: the connection is refused (JSON of `TunnelRefusal`), or another node is the owner (no data). */
  refused: 2,
  text: 3,
  binary: 4,
  ping: 5,
  pong: 6,
  /**
   * The connection is closed (the code in two bytes, then the reason). Each side ignores later records of this
   * connection.
   */
  closed: 7,
  /**
   * How many bytes of messages were taken since the last such record (four bytes). From the node of the device: the
   * device has read them. From the owner: it has received them, and the connection is not paused.
   */
  taken: 8,
  /** From the owner: the last message to the device, sent if its node stops or loses the owner. */
  farewell: 9,
} as const

/** Bytes of one connection after which `taken` is sent. */
export const takenBytes = 16 * 1024

/** An upgrade request as the owner needs it. */
export interface TunnelRequest {
  /** The route of the request: `WebsocketRoute.path`. */
  readonly route: string
  readonly path: string
  readonly query: string
  readonly parameters: Readonly<Record<string, string>>
  readonly protocol: string
  readonly authorization: string
  readonly forwarded: { readonly origins: readonly string[]; readonly host: string; readonly address: string }
  readonly remoteAddress: string
  readonly requestId: string
}

export interface TunnelRefusal {
  readonly code: string
  readonly message: string
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface TunnelRecord {
  /** The id of the device connection, unique within the connection of the two nodes. */
  readonly id: number
  readonly kind: number
  readonly data: Uint8Array
}

/** Id, kind and length of the data. */
const headBytes = 4 + 1 + 4
const batchBytes = 16 * 1024
const startBytes = 2 * batchBytes
/** If the last batch was sent less than this time ago, further records are combined for this time. */
const batchMs = 4

/** The records of a batch. Their data is a part of the batch. @throws RangeError if the batch is cut off */
export function* recordsIn(batch: Uint8Array): Iterable<TunnelRecord> {
  const view = new DataView(batch.buffer, batch.byteOffset, batch.byteLength)
  for (let at = 0; at < batch.byteLength; ) {
    const end = at + headBytes + view.getUint32(at + 5)
    if (end > batch.byteLength) throw new RangeError('a record between nodes is cut off')
    yield { id: view.getUint32(at), kind: view.getUint8(at + 4), data: batch.subarray(at + headBytes, end) }
    at = end
  }
}

/** The records of a batch, with consecutive records of one connection together. */
export function* recordRunsIn(batch: Uint8Array): Iterable<readonly [TunnelRecord, ...TunnelRecord[]]> {
  let run: [TunnelRecord, ...TunnelRecord[]] | undefined
  for (const record of recordsIn(batch)) {
    if (run?.[0].id === record.id) run.push(record)
    else {
      if (run) yield run
      run = [record]
    }
  }
  if (run) yield run
}

export function closeData(code: number, reason: string): Uint8Array {
  const text = Buffer.from(reason)
  const data = Buffer.alloc(2 + text.byteLength)
  data.writeUInt16BE(code)
  text.copy(data, 2)
  return data
}

export function closeOf(data: Uint8Array): { code: number; reason: string } {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  return { code: bytes.readUInt16BE(), reason: bytes.toString('utf8', 2) }
}

export function encodeTakenBytes(bytes: number): Uint8Array {
  const data = Buffer.alloc(4)
  data.writeUInt32BE(bytes)
  return data
}

export function decodeTakenBytes(data: Uint8Array): number {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).readUInt32BE()
}

/** Combines records into batches: one write for many device connections. */
export class RecordBatches {
  readonly #world: World
  readonly #send: (batch: Uint8Array) => void
  #buffer = Buffer.allocUnsafe(startBytes)
  #bytes = 0
  #sentAt = Number.NEGATIVE_INFINITY
  #isScheduled = false

  constructor(world: World, send: (batch: Uint8Array) => void) {
    this.#world = world
    this.#send = send
  }

  /** Text is sent as UTF-8. Returns the number of bytes of the data. */
  add(id: number, kind: number, data: Uint8Array | string = ''): number {
    const dataBytes = typeof data === 'string' ? Buffer.byteLength(data) : data.byteLength
    const at = this.#reserve(headBytes + dataBytes)
    this.#buffer.writeUInt32BE(id, at)
    this.#buffer[at + 4] = kind
    this.#buffer.writeUInt32BE(dataBytes, at + 5)
    if (typeof data === 'string') this.#buffer.write(data, at + headBytes)
    else this.#buffer.set(data, at + headBytes)
    if (this.#bytes >= batchBytes) this.flush()
    else this.#schedule()
    return dataBytes
  }

  flush(): void {
    if (this.#bytes === 0) return
    // A copy: the receiver of the batch may keep it until it is written.
    const batch = Buffer.from(this.#buffer.subarray(0, this.#bytes))
    this.#bytes = 0
    this.#sentAt = this.#world.monotonic()
    this.#send(batch)
  }

  #reserve(bytes: number): number {
    const at = this.#bytes
    if (at + bytes > this.#buffer.byteLength) {
      const larger = Buffer.allocUnsafe(at + bytes)
      this.#buffer.copy(larger, 0, 0, at)
      this.#buffer = larger
    }
    this.#bytes += bytes
    return at
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    const flush = () => {
      this.#isScheduled = false
      this.flush()
    }
    if (this.#world.monotonic() - this.#sentAt < batchMs) this.#world.after(batchMs, flush)
    else this.#world.soon(flush)
  }
}
