import { Packr, Unpackr } from 'msgpackr'
import { arrayOfThree, identifierOf, integerAt, integerBytes } from '#bench/load/fleet-link'
import { clientFrame, FrameReader, opcodes } from '#bench/load/frames'
import { RawSocket } from '#bench/load/raw-socket'
import { firstPropId, type UpdateTemplate } from '#bench/load/update-template'
import { count, type EndCounts } from '#bench/proof/overload/end-counts'

const packr = new Packr({ useRecords: false })
const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' })

const hellosUnansweredMax = 64
/** Range of the random, growing delay before a reconnect. */
const backoffMs = { low: 50, high: 2_000 } as const
const noCloseFrame = 'cut without a close frame'

export interface CountedLinkOptions {
  readonly port: number
  readonly authorization: string | undefined
  readonly localAddress?: string
  readonly prefix: string
  readonly service: string
  readonly session: string
  /** Index of this link's first device, the distance to the next one, and their count. */
  readonly first: number
  readonly step: number
  readonly count: number
  readonly template: UpdateTemplate
  readonly chance: () => number
  /** How links ended, and which frames were refused. */
  readonly ends: EndCounts
  /** Called for a false acknowledgement: one that was taken back, or of a frame that was never sent. */
  readonly fault: (text: string) => void
}

/**
 * A gateway that records two numbers for each device: its frame n carries n, so that the events of a device must carry
 * 1, 2, 3 and so on. It reconnects after a disconnect, and continues after the last stored frame.
 */
export class CountedLink {
  unacknowledged = 0
  readonly sent: Uint32Array
  readonly acknowledged: Uint32Array
  readonly #options: CountedLinkOptions
  readonly #addresses: Uint32Array
  /** The last frame on this connection; below `sent` while frames are resent. */
  readonly #last: Uint32Array
  #placeOf = new Map<number, number>()
  #socket: RawSocket | undefined
  #hellos = 0
  #welcomed = 0
  #turn = 0
  #attempts = 0
  #isStopped = false
  #closeCode: number | undefined
  #retry: NodeJS.Timeout | undefined

  constructor(options: CountedLinkOptions) {
    this.#options = options
    this.#addresses = new Uint32Array(options.count)
    this.sent = new Uint32Array(options.count)
    this.acknowledged = new Uint32Array(options.count)
    this.#last = new Uint32Array(options.count)
  }

  get isReady(): boolean {
    return this.#socket !== undefined && this.#welcomed === this.#options.count
  }

  open(): void {
    if (this.#isStopped) return
    const { port, authorization, localAddress, ends } = this.#options
    const reader = new FrameReader((bytes, start, end, opcode) => this.#handleFrame(bytes, start, end, opcode))
    this.#closeCode = undefined
    let isOpen = false
    RawSocket.open({
      port,
      path: '/api/v1/link',
      protocol: 'link.v1.msgpack',
      authorization,
      ...(localAddress !== undefined && { localAddress }),
      received: (bytes) => reader.push(bytes),
      closed: () => this.#closed(isOpen),
    }).then(
      (socket) => {
        isOpen = true
        this.#socket = socket
        this.#greet()
      },
      (error: Error) => {
        const status = /HTTP\/1\.1 (\d{3})/.exec(error.message)?.[1]
        if (!this.#isStopped) count(ends, status ?? 'not let in')
      },
    )
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#retry)
    this.#socket?.close()
  }

  /** Sends due frames of its devices in rotation. `dueOf`: the last due number, by the device's index. */
  send(dueOf: (device: number) => number, window: number): void {
    if (!this.isReady) return
    const { template, count: devices, first, step } = this.#options
    const places: number[] = []
    const numbers: number[] = []
    for (let passed = 0; passed < devices && this.unacknowledged + places.length < window; ) {
      const place = this.#turn
      this.#turn = place + 1 === devices ? 0 : place + 1
      const next = (this.#last[place] as number) + 1
      if (next > dueOf(first + place * step)) {
        passed++
        continue
      }
      passed = 0
      this.#last[place] = next
      if (next > (this.sent[place] as number)) this.sent[place] = next
      places.push(place)
      numbers.push(next)
    }
    if (places.length === 0) return
    this.unacknowledged += places.length
    const bytes = Buffer.allocUnsafe(places.length * template.bytes)
    for (const [at, place] of places.entries()) {
      const number = numbers[at] as number
      template.write(bytes, at * template.bytes, this.#addresses[place] as number, number, number)
    }
    this.#socket?.write(bytes)
  }

  #greet(): void {
    const { count: devices, first, step, prefix, service, session } = this.#options
    while (this.#hellos < devices && this.#hellos - this.#welcomed < hellosUnansweredMax) {
      const deviceIdentifier = identifierOf(prefix, first + this.#hellos++ * step)
      const properties = [{ propId: firstPropId, type: 'FLOAT', modifier: { isReadOnly: true } }]
      const services = [{ serviceIdentifier: service, properties }]
      this.#socket?.write(clientFrame(packr.pack({ type: 'HELLO', deviceIdentifier, session, services })))
    }
  }

  #handleFrame(bytes: Buffer, start: number, end: number, opcode: number): void {
    if (opcode === opcodes.ping) this.#socket?.pong(bytes.subarray(start, end))
    else if (opcode === opcodes.close) this.#closeCode = end - start >= 2 ? bytes.readUInt16BE(start) : 1005
    else if (bytes[start] === arrayOfThree) this.#acknowledgedOne(bytes, start)
    else this.#handleMessage(unpackr.unpack(Buffer.from(bytes.subarray(start, end))) as Message)
  }

  #acknowledgedOne(bytes: Buffer, start: number): void {
    const place = this.#placeOf.get(integerAt(bytes, start + 3))
    const sequence = integerAt(bytes, start + 3 + integerBytes(bytes[start + 3] as number))
    if (place === undefined || sequence > (this.#last[place] as number)) {
      this.#options.fault(`frame ${sequence} was acknowledged, which was not sent`)
      return
    }
    const before = this.acknowledged[place] as number
    if (sequence <= before) return
    this.acknowledged[place] = sequence
    this.unacknowledged -= sequence - before
  }

  #handleMessage(message: Message): void {
    if (message.type === 'ERROR') count(this.#options.ends, `ERROR ${message.code}`)
    else if (message.type === 'WELCOME') this.#welcome(message)
    else this.#options.fault(`a link received ${JSON.stringify(message).slice(0, 200)}`)
  }

  #welcome({ deviceIdentifier, flakeAddress, seq }: WelcomeMessage): void {
    const { prefix, first, step, fault } = this.#options
    const place = (Number(deviceIdentifier.slice(prefix.length + 1)) - first) / step
    if (seq < (this.acknowledged[place] as number)) {
      fault(`${deviceIdentifier}: stored is ${seq}, but ${this.acknowledged[place]} was acknowledged`)
    }
    if (seq > (this.sent[place] as number)) fault(`${deviceIdentifier}: stored is ${seq}, which was not sent`)
    this.acknowledged[place] = Math.max(seq, this.acknowledged[place] as number)
    this.#last[place] = seq
    this.#addresses[place] = flakeAddress
    this.#placeOf.set(flakeAddress, place)
    this.#welcomed++
    this.#attempts = 0
    this.#greet()
  }

  #closed(wasOpen: boolean): void {
    if (wasOpen && !this.#isStopped) {
      count(this.#options.ends, this.#closeCode === undefined ? noCloseFrame : `close ${this.#closeCode}`)
    }
    this.#socket = undefined
    this.#placeOf = new Map()
    this.#hellos = 0
    this.#welcomed = 0
    this.unacknowledged = 0
    if (this.#isStopped) return
    const ceiling = Math.min(backoffMs.high, backoffMs.low * 2 ** Math.min(this.#attempts++, 10))
    this.#retry = setTimeout(() => this.open(), ceiling / 2 + (this.#options.chance() * ceiling) / 2)
  }
}

type Message = WelcomeMessage | { readonly type: 'ERROR'; readonly code: string }

interface WelcomeMessage {
  readonly type: 'WELCOME'
  readonly deviceIdentifier: string
  readonly flakeAddress: number
  readonly seq: number
}
