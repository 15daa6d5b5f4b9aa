import type { SeededRandom } from '#bench/random'
import { jsonCodec } from '#link/codecs'
import { DeviceFirmware, type Order, type Piece } from '#test/simulation/simulated-firmware'
import { Heater, heaterService } from '#test/simulation/simulated-heater'
import { type SimulatedServer, tenant } from '#test/simulation/simulated-server'
import type { Peer, SimulatedSocket } from '#test/simulation/simulated-sockets'

/**
 * A service of every device: its one property counts the device's reports of this service, so each of these has a
 * number.
 */
export const counterService = 'counter'
export const counterId = 1

/** Further services of a device, which change now and then. */
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

/** A numbered UPDATE. `count`: the counter's value after it. */
interface Frame {
  readonly seq: number
  readonly count?: number
  readonly serviceIdentifier: string
  readonly updates: readonly object[]
  readonly timestamp?: number
}

/** The environment for firmware updates, except the connection. */
export interface FirmwareHost {
  download(order: Order, from: number, to: number): Promise<Piece>
  offered(device: SimulatedDevice, order: Order, isNew: boolean): void
  /** The device sends HELLO: from now on the server may know whether it accepts firmware automatically. */
  greets(device: SimulatedDevice): void
  /** The server knows now whether the device accepts firmware automatically. */
  welcomed(device: SimulatedDevice): void
  report(what: string): void
}

/** A device that never gives up: it keeps unacknowledged frames and sends them again. */
export class SimulatedDevice implements Peer {
  readonly name: string
  /** The device stays offline for a time of its own choice. */
  isAway = false
  readonly heater: Heater
  readonly firmware: DeviceFirmware
  host: FirmwareHost | undefined
  /** Called with each new write to the heater. */
  onWrite: (updates: readonly { readonly propId: number; readonly value: unknown }[]) => void = () => {}
  /** Called with each count that the device reports. */
  onCounted: (count: number) => void = () => {}
  /** Called with a count when its acknowledgement arrives. */
  onAcknowledged: (count: number) => void = () => {}
  readonly #random: SeededRandom
  #count = 0
  #session = 0
  #seq = 0
  #declaration = 0
  #socket: SimulatedSocket | undefined
  #address = 0
  #lastAddress = 0
  /** HELLOs on this socket without a WELCOME so far. */
  #unwelcomed = 0
  #unacknowledged: Frame[] = []
  /** Counts of acknowledged frames: each must be in the stream, once. */
  readonly acknowledged: number[] = []

  constructor(name: string, random: SeededRandom) {
    this.name = name
    this.#random = random
    this.heater = new Heater(random, {
      reports: (updates) => this.#heat(updates),
      answers: (message) => this.#socket?.transmit({ flakeAddress: this.#address, ...message }),
      written: (updates) => this.onWrite(updates),
    })
    this.firmware = new DeviceFirmware(random, {
      sends: (message) => this.#socket?.transmit({ flakeAddress: this.#address, ...message }),
      restarts: () => this.#restart(),
      download: async (...args) => (await this.host?.download(...args)) ?? 'not now',
      offered: (order, isNew) => this.host?.offered(this, order, isNew),
      report: (what) => this.host?.report(`${name} ${what}`),
    })
  }

  get isLinked(): boolean {
    return this.#socket !== undefined && this.#address > 0
  }

  /** The device's address on the connection; 0: none. A device that was removed and created again gets another. */
  get address(): number {
    return this.#address
  }

  get hasSocket(): boolean {
    return this.#socket !== undefined
  }

  get socket(): SimulatedSocket | undefined {
    return this.#socket
  }

  get isSettled(): boolean {
    if (this.isAway) return true
    const owesNothing = !this.heater.owesAnswers && this.firmware.isSettled
    return this.isLinked && this.#unacknowledged.length === 0 && owesNothing
  }

  /** A connection is open: sends HELLO. The socket may be shared with other devices. */
  hello(socket: SimulatedSocket): void {
    this.#unwelcomed = socket === this.#socket ? this.#unwelcomed + 1 : 1
    this.#socket = socket
    this.#address = 0
    this.heater.begins()
    this.firmware.begins()
    this.host?.greets(this)
    socket.transmit({
      type: 'HELLO',
      deviceIdentifier: this.name,
      session: `s${this.#session}`,
      ...this.firmware.declaration,
      services: [
        { serviceIdentifier: counterService, properties: [{ propId: counterId, type: 'UINT32' }] },
        ...this.heater.declaration,
        ...(declarations[this.#declaration] ?? []),
      ],
    })
  }

  /**
   * Reboots and forgets unacknowledged frames. Not while a WELCOME to an earlier boot is on its way: it would be taken for
   * the answer to this one, with a wrong number.
   */
  reboot(): void {
    if (this.#socket && this.#unwelcomed > 0) return
    this.#boot()
    if (this.#socket) this.hello(this.#socket)
  }

  /** Reboots after an installation: the device loses its connection, now and then after BYE. */
  #restart(): void {
    const socket = this.#socket
    if (this.#random.next() < 0.3) socket?.transmit({ type: 'BYE', flakeAddress: this.#address })
    this.lost()
    this.#boot()
    if (this.#random.next() < 0.5) socket?.cut()
  }

  #boot(): void {
    this.#session++
    this.#seq = 0
    this.#unacknowledged = []
    this.firmware.boots()
  }

  redeclare(): void {
    this.#declaration = this.#random.below(declarations.length)
    this.heater.isOffered = this.#random.next() < 0.8
    this.firmware.isAccepting = this.#random.next() < 0.75
    // No reports for services that it does not offer any more.
    if (!this.heater.isOffered)
      this.#unacknowledged = this.#unacknowledged.filter(({ serviceIdentifier }) => serviceIdentifier !== heaterService)
    if (this.#socket) this.hello(this.#socket)
  }

  report(): void {
    if (!this.isLinked || this.#unacknowledged.length > 20) return
    if (this.heater.isOffered && this.#random.next() < 0.5) this.heater.warm()
    else this.#countOn()
    // With its own timestamp.
    if (this.#declaration === 1 && this.#random.next() < 0.5) this.#countOn(1_700_000_000_000 + this.#count)
  }

  /** Sends some postponed frames. At rest all of them. */
  proceed(isAtRest = false): void {
    if (!this.isLinked) return
    if (isAtRest || this.#random.next() < 0.1) this.heater.answerLate()
    if (isAtRest || this.#random.next() < 0.3) this.firmware.proceed()
  }

  /** An invalid frame: it must not affect others. */
  misreport(): void {
    this.#socket?.transmit({
      type: 'UPDATE',
      flakeAddress: this.#address,
      seq: this.#seq,
      serviceIdentifier: 'nothing',
      updates: [{ propId: 1, value: 1 }],
    })
  }

  bye(): void {
    this.isAway = this.#random.next() < 0.8
    this.#socket?.transmit({ type: 'BYE', flakeAddress: this.#address })
    this.#address = 0
    this.#socket = undefined
  }

  received(text: string): void {
    const message = JSON.parse(text)
    if (message.type === 'WELCOME' && message.deviceIdentifier === this.name) this.#welcomed(message)
    if (message.type === 'ACK' && message.flakeAddress === this.#address) this.#acked(message.seq)
    if (message.type === 'WRITE' && message.flakeAddress === this.#address) this.heater.received(message)
    if (message.type === 'FIRMWARE' && message.flakeAddress === this.#address) this.firmware.received(message)
    if (message.type !== 'ERROR' || message.flakeAddress !== this.#address) return
    if (message.code === 'REPLACED') this.lost()
    // The device was removed by a user: it starts as a new one.
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
    // Removed and created again: it is unknown whether unacknowledged frames were stored.
    if (this.#lastAddress !== flakeAddress) this.#unacknowledged = []
    this.#lastAddress = flakeAddress
    this.#address = flakeAddress
    // Frames up to this number are stored, even if their acknowledgement did not arrive.
    this.#acked(seq)
    for (const frame of this.#unacknowledged) this.#send(frame)
    this.firmware.welcomed()
    if (this.#unwelcomed === 0) this.host?.welcomed(this)
  }

  #acked(seq: number): void {
    for (const frame of this.#unacknowledged) {
      if (frame.seq > seq || frame.count === undefined) continue
      this.acknowledged.push(frame.count)
      this.onAcknowledged(frame.count)
    }
    this.#unacknowledged = this.#unacknowledged.filter((frame) => frame.seq > seq)
  }

  #countOn(timestamp?: number): void {
    const count = ++this.#count
    const updates = [{ propId: counterId, value: count }]
    this.onCounted(count)
    this.#take({ seq: ++this.#seq, count, serviceIdentifier: counterService, updates, ...(timestamp && { timestamp }) })
  }

  /** False if it cannot be sent. */
  #heat(updates: readonly object[]): boolean {
    if (!this.isLinked || !this.heater.isOffered) return false
    this.#take({ seq: ++this.#seq, serviceIdentifier: heaterService, updates })
    return true
  }

  #take(frame: Frame): void {
    this.#unacknowledged.push(frame)
    this.#send(frame)
  }

  #send({ count: _, ...frame }: Frame): void {
    this.#socket?.transmit({ type: 'UPDATE', flakeAddress: this.#address, ...frame })
  }
}

export function linkDevices(server: SimulatedServer, devices: readonly SimulatedDevice[]): void {
  if (devices.length === 0) return
  const peer = {
    received: (message: string) => {
      for (const device of devices) if (device.socket === socket) device.received(message)
    },
    sent: (message: string) => {
      if (message.startsWith('{"type":"FIRMWARE"')) server.firmwareSent(JSON.parse(message).id)
    },
    closed: () => {
      for (const device of devices) if (device.socket === socket) device.closed()
    },
  }
  const opening = { tenant, codec: jsonCodec, origin: 'http://simulated' }
  const socket = server.sockets.open(server.assembly.context.devices.links, opening, peer, 1_000_000)
  for (const device of devices) device.hello(socket)
}
