import { Packr, Unpackr } from 'msgpackr'
import { clientFrame, FrameReader, opcodes } from '#bench/load/frames'
import { RawSocket } from '#bench/load/raw-socket'
import { firstPropId, type UpdateTemplate } from '#bench/load/update-template'

const packr = new Packr({ useRecords: false })
const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' })

const hellosUnansweredMax = 64
/** First byte of a short ACK, `["A", flakeAddress, seq]`: an array of three. All other messages of the server are maps. */
export const arrayOfThree = 0x93

export const serviceIdentifier = '5f2a7c10-0001-4b6d-9e3f-a0000000000a'

/** A message of the server except ACK. */
export type LinkMessage = Readonly<Record<string, unknown>> & { readonly type: string; readonly flakeAddress: number }

export interface FleetLinkOptions {
  readonly port: number
  readonly authorization?: string | undefined
  readonly prefix: string
  /** Index of the first device of this link, the distance to the next one, and their count. */
  readonly first: number
  readonly step: number
  readonly count: number
  /** HELLO of a device, without its type and identifier. */
  readonly hello: (device: number) => object
  readonly failed: (error: Error) => void
  /** For a link whose devices report values. */
  readonly template?: UpdateTemplate
  /** Called for each acknowledged frame. `number`: its number, unless a later frame of the device is in flight. */
  readonly acknowledged?: (device: number, sequence: number, number: number | undefined) => void
  readonly onRead?: () => void
  readonly welcomedAgain?: () => void
  /** Called for other messages; without it they are failures. `device`: its index. */
  readonly other?: (message: LinkMessage, device: number) => void
}

/** A gateway: sends HELLO for its devices, then frames in batches, and counts their acknowledgements. */
export class FleetLink {
  unacknowledged = 0
  readonly #options: FleetLinkOptions
  readonly #addresses: Uint32Array
  /** Sequence of the last sent frame of each device, and of the last acknowledged one. */
  readonly #sent: Uint32Array
  readonly #acknowledged: Uint32Array
  readonly #numbers: Float64Array
  readonly #placeOf = new Map<number, number>()
  readonly #greeted = new Map<string, number>()
  #socket: RawSocket | undefined
  #welcomed = 0
  #hellos = 0
  #turn = 0
  #isClosing = false
  #isWelcome: () => void = () => {}
  #isRefused: (error: Error) => void = () => {}

  constructor(options: FleetLinkOptions) {
    this.#options = options
    this.#addresses = new Uint32Array(options.count)
    this.#sent = new Uint32Array(options.count)
    this.#acknowledged = new Uint32Array(options.count)
    this.#numbers = new Float64Array(options.count)
  }

  async open(): Promise<void> {
    const { port, authorization, count } = this.#options
    const reader = new FrameReader((bytes, start, end, opcode) => this.#onRead(bytes, start, end, opcode))
    this.#socket = await RawSocket.open({
      port,
      path: '/api/v1/link',
      protocol: 'link.v1.msgpack',
      authorization,
      received: (bytes) => {
        reader.push(bytes)
        this.#options.onRead?.()
      },
      closed: () => {
        if (!this.#isClosing) this.#fail('a link was closed')
      },
    })
    if (count === 0) return
    await new Promise<void>((resolve, reject) => {
      this.#isWelcome = resolve
      this.#isRefused = reject
      this.#greetMore()
    })
  }

  close(): void {
    this.#isClosing = true
    this.#socket?.close()
  }

  sendMessage(message: object): void {
    this.#socket?.write(clientFrame(packr.pack(message)))
  }

  /** Sends HELLO for the device with this index, for the first time or again. */
  greet(device: number): void {
    const { prefix, hello, first, step } = this.#options
    const deviceIdentifier = identifierOf(prefix, device)
    this.#greeted.set(deviceIdentifier, (device - first) / step)
    this.sendMessage({ type: 'HELLO', deviceIdentifier, ...hello(device) })
  }

  /** Sends frames of its devices in rotation, with the numbers `number`, `number + step` and so on. */
  send(count: number, number: number, step: number): void {
    const { template, count: devices } = this.#options
    if (!template) throw new Error('the devices of this link do not report')
    const bytes = Buffer.allocUnsafe(count * template.bytes)
    for (let written = 0; written < count; written++) {
      const place = this.#turn
      this.#turn = place + 1 === devices ? 0 : place + 1
      const sequence = (this.#sent[place] as number) + 1
      this.#sent[place] = sequence
      const carried = number + written * step
      this.#numbers[place] = carried
      template.write(bytes, written * template.bytes, this.#addresses[place] as number, sequence, carried)
    }
    this.unacknowledged += count
    this.#socket?.write(bytes)
  }

  /** The next frame is of the first device. */
  resetRotation(): void {
    this.#turn = 0
  }

  #greetMore(): void {
    const { count, first, step } = this.#options
    while (this.#hellos < count && this.#hellos - this.#welcomed < hellosUnansweredMax) {
      this.greet(first + this.#hellos++ * step)
    }
  }

  #onRead(bytes: Buffer, start: number, end: number, opcode: number): void {
    if (opcode === opcodes.ping) this.#socket?.pong(bytes.subarray(start, end))
    else if (opcode === opcodes.close) this.#fail(`a link was closed: ${bytes.toString('latin1', start + 2, end)}`)
    else if (bytes[start] === arrayOfThree) this.#handleAck(bytes, start)
    else this.#handleMessage(unpackr.unpack(Buffer.from(bytes.subarray(start, end))) as LinkMessage)
  }

  #handleAck(bytes: Buffer, start: number): void {
    const address = integerAt(bytes, start + 3)
    const place = this.#placeOf.get(address)
    if (place === undefined) {
      this.#fail(`ACK for ${address}, which is not a device of this link`)
      return
    }
    const sequence = integerAt(bytes, start + 3 + integerBytes(bytes[start + 3] as number))
    const before = this.#acknowledged[place] as number
    if (sequence > (this.#sent[place] as number) || sequence <= before) {
      this.#fail(`ACK for frame ${sequence} of ${address} after ${before}, sent up to ${this.#sent[place]}`)
      return
    }
    this.#acknowledged[place] = sequence
    this.unacknowledged -= sequence - before
    const { first, step, acknowledged } = this.#options
    const last = this.#sent[place] === sequence ? this.#numbers[place] : undefined
    for (let each = before + 1; each <= sequence; each++) {
      acknowledged?.(first + place * step, each, each === sequence ? last : undefined)
    }
  }

  #handleMessage(message: LinkMessage): void {
    const { type, flakeAddress, deviceIdentifier } = message
    const { first, step, count, other, welcomedAgain } = this.#options
    const place = type === 'WELCOME' ? this.#greeted.get(String(deviceIdentifier)) : this.#placeOf.get(flakeAddress)
    if (place === undefined || (type !== 'WELCOME' && !other)) {
      this.#fail(`a link received ${JSON.stringify(message)}`)
      return
    }
    if (type !== 'WELCOME') {
      other?.(message, first + place * step)
      return
    }
    this.#greeted.delete(String(deviceIdentifier))
    this.#addresses[place] = flakeAddress
    this.#placeOf.set(flakeAddress, place)
    if (this.#welcomed === count) welcomedAgain?.()
    else if (++this.#welcomed === count) this.#isWelcome()
    else this.#greetMore()
  }

  #fail(message: string): void {
    const error = new Error(message)
    this.#options.failed(error)
    this.#isRefused(error)
  }
}

/** HELLO of a device that reports numbers. Each start of a load is a new session: numbering begins at 1. */
export function reportingHello(properties: number): object {
  return {
    session: sessionName,
    services: [
      {
        serviceIdentifier,
        properties: Array.from({ length: properties }, (_, place) => ({
          propId: firstPropId + place,
          type: 'FLOAT',
          modifier: { isReadOnly: true },
        })),
      },
    ],
  }
}

export const sessionName = `load-${process.pid}-${Date.now().toString(36)}`

export function identifierOf(prefix: string, device: number): string {
  return `${prefix}-${String(device).padStart(7, '0')}`
}

/** msgpack: positive fixint, uint 8, 16, 32 and 64. */
export function integerAt(bytes: Buffer, at: number): number {
  const tag = bytes[at] as number
  if (tag < 0x80) return tag
  if (tag === 0xcc) return bytes[at + 1] as number
  if (tag === 0xcd) return bytes.readUInt16BE(at + 1)
  if (tag === 0xce) return bytes.readUInt32BE(at + 1)
  return Number(bytes.readBigUInt64BE(at + 1))
}

export function integerBytes(tag: number): number {
  return tag < 0x80 ? 1 : 1 + 2 ** (tag - 0xcc)
}
