import type { SeededRandom } from '#bench/random'
import type { Peer, SimulatedSocket } from '#test/simulation/simulated-sockets'

/** The service every device has: its one property counts the device's frames, so each frame is known by it. */
export const counterService = 'counter'
export const counterId = 1

/** What else a device may declare; it changes its mind now and then. */
const declarations = [
  [],
  [
    {
      serviceIdentifier: 'climate',
      properties: [
        { propId: 8192, type: 'FLOAT' },
        { propId: 8193, type: 'STRING' },
      ],
    },
  ],
  [
    {
      serviceIdentifier: 'climate',
      properties: [
        { propId: 8193, type: 'UINT32' },
        { propId: 8194, type: 'BOOL', value: true },
      ],
    },
  ],
  [
    {
      serviceIdentifier: 'climate',
      properties: [{ propId: 8192, type: 'FLOAT', value: 1.5, modifier: { isReadOnly: true } }],
    },
    { serviceIdentifier: 'pump', properties: [{ propId: 1, type: 'INT8-ARRAY' }] },
  ],
] as const

interface Frame {
  readonly seq: number
  readonly count: number
}

/** A device as a client of the link that never gives up: it keeps what is not acknowledged and sends it again. */
export class SimulatedDevice implements Peer {
  readonly name: string
  readonly #random: SeededRandom
  #count = 0
  #session = 0
  #seq = 0
  #declaration = 0
  #socket: SimulatedSocket | undefined
  #address = 0
  #lastAddress = 0
  /** HELLOs said on this socket that no WELCOME came to yet. */
  #unwelcomed = 0
  #unacknowledged: Frame[] = []
  /** Counts of acknowledged frames: each must be in the stream, once. */
  readonly acknowledged: number[] = []

  constructor(name: string, random: SeededRandom) {
    this.name = name
    this.#random = random
  }

  get isLinked(): boolean {
    return this.#socket !== undefined && this.#address > 0
  }

  get hasSocket(): boolean {
    return this.#socket !== undefined
  }

  get socket(): SimulatedSocket | undefined {
    return this.#socket
  }

  get isSettled(): boolean {
    return this.isLinked && this.#unacknowledged.length === 0
  }

  /** A link is open: say who we are. The socket may be shared with others. */
  hello(socket: SimulatedSocket): void {
    this.#unwelcomed = socket === this.#socket ? this.#unwelcomed + 1 : 1
    this.#socket = socket
    this.#address = 0
    socket.say({
      type: 'HELLO',
      deviceIdentifier: this.name,
      session: `s${this.#session}`,
      services: [
        { serviceIdentifier: counterService, properties: [{ propId: counterId, type: 'UINT32' }] },
        ...(declarations[this.#declaration] ?? []),
      ],
    })
  }

  /**
   * Another boot: what was not acknowledged is forgotten. Not while a WELCOME to an earlier boot is on its way: it would
   * be taken for one to this, and its number for one of ours.
   */
  reboot(): void {
    if (this.#socket && this.#unwelcomed > 0) return
    this.#session++
    this.#seq = 0
    this.#unacknowledged = []
    if (this.#socket) this.hello(this.#socket)
  }

  redeclare(): void {
    this.#declaration = this.#random.below(declarations.length)
    if (this.#socket) this.hello(this.#socket)
  }

  report(): void {
    if (!this.isLinked || this.#unacknowledged.length > 20) return
    const frame = { seq: ++this.#seq, count: ++this.#count }
    this.#unacknowledged.push(frame)
    this.#send(frame)
    if (this.#declaration === 1 && this.#random.next() < 0.5) this.#sendClimate()
  }

  /** A frame with something wrong in it: it costs nobody anything. */
  misreport(): void {
    this.#socket?.say({
      type: 'UPDATE',
      flakeAddress: this.#address,
      seq: this.#seq,
      serviceIdentifier: 'nothing',
      updates: [{ propId: 1, value: 1 }],
    })
  }

  bye(): void {
    this.#socket?.say({ type: 'BYE', flakeAddress: this.#address })
    this.#address = 0
    this.#socket = undefined
  }

  heard(text: string): void {
    const message = JSON.parse(text)
    if (message.type === 'WELCOME' && message.deviceIdentifier === this.name) this.#welcomed(message)
    if (message.type === 'ACK' && message.flakeAddress === this.#address) this.#acked(message.seq)
    if (message.type !== 'ERROR' || message.flakeAddress !== this.#address) return
    if (message.code === 'REPLACED') this.lost()
    // Somebody removed us: then we are new.
    if (message.code === 'UNKNOWN_DEVICE' && this.#socket) this.hello(this.#socket)
  }

  closed(): void {
    this.lost()
  }

  lost(): void {
    this.#socket = undefined
    this.#address = 0
  }

  #welcomed({ flakeAddress, seq }: { flakeAddress: number; seq: number }): void {
    this.#unwelcomed--
    // Removed and made anew: whether what was not acknowledged had been stored, nobody can say any more.
    if (this.#lastAddress !== flakeAddress) this.#unacknowledged = []
    this.#lastAddress = flakeAddress
    this.#address = flakeAddress
    // Stored though we did not hear of it.
    this.#acked(seq)
    for (const frame of this.#unacknowledged) this.#send(frame)
  }

  #acked(seq: number): void {
    for (const frame of this.#unacknowledged) if (frame.seq <= seq) this.acknowledged.push(frame.count)
    this.#unacknowledged = this.#unacknowledged.filter((frame) => frame.seq > seq)
  }

  #send({ seq, count }: Frame): void {
    this.#socket?.say({
      type: 'UPDATE',
      flakeAddress: this.#address,
      seq,
      serviceIdentifier: counterService,
      updates: [{ propId: counterId, value: count }],
    })
  }

  /** A frame without the counter; it takes a number like any other. */
  #sendClimate(): void {
    const seq = ++this.#seq
    const frame = { seq, count: ++this.#count }
    this.#unacknowledged.push(frame)
    this.#socket?.say({
      type: 'UPDATE',
      flakeAddress: this.#address,
      seq,
      serviceIdentifier: counterService,
      updates: [{ propId: counterId, value: frame.count }],
      timestamp: 1_700_000_000_000 + frame.count,
    })
  }
}
