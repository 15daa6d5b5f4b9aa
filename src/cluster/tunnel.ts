import { WebSocket } from 'ws'
import { nodeKeyHeader } from '#cluster/node'
import { pingEveryMs, silenceMsMax, tunnelBufferBytesMax, tunnelPath } from '#cluster/tunnel-host'
import {
  closeData,
  closeOf,
  decodeTakenBytes,
  encodeTakenBytes,
  RecordBatches,
  recordKinds,
  recordRunsIn,
  type TunnelRecord,
  type TunnelRefusal,
  type TunnelRequest,
  takenBytes,
} from '#cluster/tunnel-records'
import { Problem, type ProblemCode } from '#model/problem'
import { closeCodes } from '#runtime/close-codes'
import type { Socket, SocketHandler } from '#runtime/socket'
import type { World } from '#runtime/world'

/** How long an accepted device may take to open its connection. */
const joinMsMax = 1_000
/**
 * Bytes of one device that the owner has not taken, above which nothing more is read from the device, if its socket can
 * be paused. Less than what a paused connection of the owner keeps.
 */
const untakenBytesMax = 512 * 1024
const { restarting, tryLater } = closeCodes

/** The connection of this node to the owner. */
export class Tunnel {
  readonly place: URL
  /** Whether the connection opened: the other node was reached, and is the owner. */
  readonly opened: Promise<boolean>
  readonly #world: World
  readonly #owner: WebSocket
  readonly #batches: RecordBatches
  readonly #links = new Map<number, TunnelledLink>()
  #lastId = 0
  /** When the owner last sent something, by `World.monotonic`. */
  #receivedAt: number
  #cancelPing: () => void = () => {}

  constructor(world: World, place: URL, basePath: string, key: string) {
    this.place = place
    this.#world = world
    this.#receivedAt = world.monotonic()
    const url = new URL(`${basePath}${tunnelPath}`, place)
    url.protocol = place.protocol === 'https:' ? 'wss:' : 'ws:'
    const headers = { [nodeKeyHeader]: key }
    const owner = new WebSocket(url, { headers, perMessageDeflate: false, handshakeTimeout: silenceMsMax })
    this.#owner = owner
    this.#batches = new RecordBatches(world, (batch) => owner.send(batch))
    this.opened = new Promise((resolve) => {
      owner.once('open', () => resolve(true))
      owner.once('close', () => resolve(false))
    })
    owner.once('open', () => this.#ping())
    owner.on('pong', () => this.#noteReceived())
    owner.on('message', (batch: Buffer) => {
      this.#noteReceived()
      try {
        for (const records of recordRunsIn(batch)) this.#links.get(records[0].id)?.receive(records)
      } catch {
        // Another release sent this record.
        owner.terminate()
      }
    })
    // An error is followed by `close`.
    owner.on('error', () => {})
    owner.on('close', () => {
      this.#cancelPing()
      for (const link of [...this.#links.values()]) link.broken()
      this.#links.clear()
    })
  }

  #noteReceived(): void {
    this.#receivedAt = this.#world.monotonic()
  }

  /** Detects a network that drops everything, and therefore does not close the connection either. */
  #ping(): void {
    const isSilent = this.#world.monotonic() - this.#receivedAt > silenceMsMax
    if (isSilent) this.#owner.terminate()
    else this.#owner.ping()
    if (!isSilent) this.#cancelPing = this.#world.after(pingEveryMs, () => this.#ping())
  }

  get isClosed(): boolean {
    return this.#owner.readyState >= WebSocket.CLOSING
  }

  get isFull(): boolean {
    return this.#owner.bufferedAmount > tunnelBufferBytesMax
  }

  close(): void {
    this.#owner.terminate()
  }

  /** Closes all device connections, because this node stops. */
  stop(): void {
    for (const link of [...this.#links.values()]) link.stop()
    this.#batches.flush()
  }

  /**
   * Forwards a device connection. Undefined: the other node is not the owner any more, or the connection to it broke.
   * @throws Problem with which the owner refuses the request
   */
  open(
    request: TunnelRequest,
    addReplyHeader: (name: string, value: string) => void,
  ): Promise<TunnelledLink | undefined> {
    if (this.isClosed) return Promise.resolve(undefined)
    const link = new TunnelledLink(this, ++this.#lastId, this.#world)
    this.#links.set(link.id, link)
    this.add(link.id, recordKinds.open, JSON.stringify(request))
    return link.accepted(addReplyHeader)
  }

  /** Returns the number of bytes of the data. */
  add(id: number, kind: number, data?: Uint8Array | string): number {
    return this.#owner.readyState === WebSocket.OPEN ? this.#batches.add(id, kind, data) : 0
  }

  forget(link: TunnelledLink): void {
    this.#links.delete(link.id)
  }
}

/** One connection of a device in a tunnel. It handles the events of the device's socket, if the device has a websocket. */
export class TunnelledLink implements Omit<SocketHandler<unknown>, 'opened'> {
  readonly id: number
  readonly #tunnel: Tunnel
  readonly #world: World
  #answered: ((answer: TunnelRecord | undefined) => void) | undefined
  #socket: Socket | undefined
  /** Records that arrived before the connection of the device was open. */
  #early: TunnelRecord[] = []
  /** Bytes from the owner that are not reported as read yet. */
  #unreportedBytes = 0
  /** Bytes of the device that the owner has not taken. */
  #untakenBytes = 0
  #isPaused = false
  #farewell: Uint8Array | undefined
  #isOver = false
  #hasLost = false
  #cancelWait: () => void = () => {}

  constructor(tunnel: Tunnel, id: number, world: World) {
    this.id = id
    this.#tunnel = tunnel
    this.#world = world
  }

  async accepted(addReplyHeader: (name: string, value: string) => void): Promise<TunnelledLink | undefined> {
    const answer = await new Promise<TunnelRecord | undefined>((resolve) => {
      this.#answered = resolve
    })
    const text = answer && Buffer.from(answer.data).toString()
    if (!text) return undefined
    if (answer.kind === recordKinds.refused) {
      const { code, message, headers } = JSON.parse(text) as TunnelRefusal
      throw new Problem(code as ProblemCode, message, headers ? { headers } : {})
    }
    for (const [name, value] of JSON.parse(text) as [string, string][]) addReplyHeader(name, value)
    // The device may be gone by now.
    this.#cancelWait = this.#world.after(joinMsMax, () => this.leave(1006))
    return this
  }

  join(socket: Socket): void {
    this.#cancelWait()
    this.#socket = socket
    if (this.#isOver) this.#end(socket, restarting)
    for (const record of this.#early.splice(0)) this.#pass(socket, record)
  }

  /** Writes the messages among the records to the device at once. */
  receive(records: readonly TunnelRecord[]): void {
    const receiveAll = () => {
      for (const record of records) this.#receive(record)
    }
    if (records.length > 1 && this.#socket) this.#socket.cork(receiveAll)
    else receiveAll()
  }

  #receive(record: TunnelRecord): void {
    if (this.#answered) {
      if (record.kind === recordKinds.refused) this.#tunnel.forget(this)
      this.#answered({ ...record, data: Uint8Array.from(record.data) })
      this.#answered = undefined
    } else if (this.#socket) this.#pass(this.#socket, record)
    else this.#early.push({ ...record, data: Uint8Array.from(record.data) })
  }

  #pass(socket: Socket, { kind, data }: TunnelRecord): void {
    if (kind === recordKinds.text || kind === recordKinds.binary) {
      const isText = kind === recordKinds.text
      socket.send(isText ? Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString() : data)
      this.#unreportedBytes += data.byteLength
      this.drained()
    } else if (kind === recordKinds.ping) socket.ping()
    else if (kind === recordKinds.farewell) this.#farewell = Uint8Array.from(data)
    else if (kind === recordKinds.taken) this.#taken(socket, decodeTakenBytes(data))
    else {
      this.#isOver = true
      this.#tunnel.forget(this)
      this.#end(socket, closeOf(data))
    }
  }

  received(socket: Socket, data: Uint8Array, isBinary: boolean): void {
    if (!this.send(data, isBinary)) this.#end(socket, tryLater)
  }

  /** A lost message must not be followed by later ones. */
  dropped(socket: Socket): void {
    this.#end(socket, tryLater)
  }

  /** Returns false if the connection to the owner has too many unsent bytes, and always after that. */
  send(data: Uint8Array, isBinary: boolean): boolean {
    // A lost message must not be followed by later ones.
    this.#hasLost ||= this.#tunnel.isFull
    if (this.#hasLost) return false
    if (this.#isOver) return true
    this.#untakenBytes += this.#tunnel.add(this.id, isBinary ? recordKinds.binary : recordKinds.text, data)
    if (!this.#isPaused && this.#untakenBytes > untakenBytesMax) {
      this.#isPaused = true
      this.#socket?.pause?.()
    }
    return true
  }

  #taken(socket: Socket, bytes: number): void {
    this.#untakenBytes -= bytes
    if (!this.#isPaused || this.#untakenBytes > untakenBytesMax / 2) return
    this.#isPaused = false
    socket.resume?.()
  }

  /** Reports what the device has read: the owner sends no more than the device reads. */
  drained(): void {
    if (!this.#socket || this.#unreportedBytes < takenBytes) return
    const bytes = this.#unreportedBytes - this.#socket.bufferedBytes()
    if (this.#isOver || bytes < takenBytes) return
    this.#unreportedBytes -= bytes
    this.#tunnel.add(this.id, recordKinds.taken, encodeTakenBytes(bytes))
  }

  /** Passes on the device's own answer, so that the owner notices a dead device. */
  ponged(): void {
    if (!this.#isOver) this.#tunnel.add(this.id, recordKinds.pong)
  }

  closed(_: Socket, code: number): void {
    this.leave(code)
  }

  /** The device has gone. */
  leave(code: number): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#tunnel.add(this.id, recordKinds.closed, closeData(code, ''))
    this.#tunnel.forget(this)
  }

  /** The connection to the owner is closed. */
  broken(): void {
    this.#isOver = true
    this.#answered?.(undefined)
    this.#endAtStop()
  }

  /** This node stops. */
  stop(): void {
    this.leave(restarting.code)
    this.#endAtStop()
  }

  #endAtStop(): void {
    if (!this.#socket) return
    if (this.#farewell) this.#socket.send(this.#farewell)
    this.#end(this.#socket, restarting)
  }

  #end(socket: Socket, { code, reason }: { code: number; reason: string }): void {
    this.#world.soon(() => socket.end(code, reason))
  }
}
