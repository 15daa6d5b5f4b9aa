import { Packr, Unpackr } from 'msgpackr'
import { clientFrame, FrameReader, opcodes } from '#bench/load/frames'
import { RawSocket } from '#bench/load/raw-socket'
import { firstPropId, type UpdateTemplate } from '#bench/load/update-template'

const packr = new Packr({ useRecords: false })
const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' })

/** HELLOs on one link without an answer. */
const hellosUnansweredMax = 64
/** First byte of a short ACK, `["A", flakeAddress, seq]`: an array of three. Everything else we hear is a map. */
export const arrayOfThree = 0x93

/** What a service of the load's devices is called. */
export const serviceIdentifier = '5f2a7c10-0001-4b6d-9e3f-a0000000000a'

export interface FleetLinkOptions {
  readonly port: number
  readonly authorization?: string | undefined
  readonly prefix: string
  readonly properties: number
  /** Whether devices have one property more, behind the others, and do at once what they are asked. */
  readonly isAnswering: boolean
  /** Index of this link's first device, and how far it is to the next one. */
  readonly first: number
  readonly step: number
  readonly count: number
  readonly template: UpdateTemplate
  /** One call a frame, before it leaves; only where somebody wants to know. */
  readonly sent?: ((device: number, number: number) => void) | undefined
  /** One call a frame. `number`: what it carried, where that is known: nothing newer of its device is on its way. */
  readonly acknowledged: (device: number, sequence: number, number: number | undefined) => void
  /** All that came in one piece was heard. */
  readonly heard: () => void
  readonly failed: (error: Error) => void
}

/** One gateway: says HELLO for its devices, then writes frames in batches and counts what is answered. */
export class FleetLink {
  unacknowledged = 0
  readonly #options: FleetLinkOptions
  readonly #addresses: Uint32Array
  /** The last frame's number of each device, and the last one acknowledged. */
  readonly #sent: Uint32Array
  readonly #acknowledged: Uint32Array
  /** What the last frame of each device carried. */
  readonly #numbers: Float64Array
  readonly #placeOf = new Map<number, number>()
  readonly #places = new Map<string, number>()
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

  /** Resolves when every device of it is welcome; rejects with what was heard instead. */
  async open(): Promise<void> {
    const reader = new FrameReader((bytes, start, end, opcode) => this.#heard(bytes, start, end, opcode))
    this.#socket = await RawSocket.open({
      port: this.#options.port,
      path: '/api/v1/link',
      protocol: 'link.v1.msgpack',
      authorization: this.#options.authorization,
      received: (bytes) => {
        reader.push(bytes)
        this.#options.heard()
      },
      closed: () => {
        if (!this.#isClosing) this.#fail('a link was closed')
      },
    })
    if (this.#options.count === 0) return
    await new Promise<void>((resolve, reject) => {
      this.#isWelcome = resolve
      this.#isRefused = reject
      this.#sayHello()
    })
  }

  close(): void {
    this.#isClosing = true
    this.#socket?.close()
  }

  /** Writes as many frames as asked, of its devices in turn, which carry `number`, `number + step` and so on. */
  send(count: number, number: number, step: number): void {
    const { template, count: devices, first, step: deviceStep, sent } = this.#options
    const bytes = Buffer.allocUnsafe(count * template.bytes)
    for (let written = 0; written < count; written++) {
      const place = this.#turn
      this.#turn = place + 1 === devices ? 0 : place + 1
      const sequence = (this.#sent[place] as number) + 1
      this.#sent[place] = sequence
      const carried = number + written * step
      this.#numbers[place] = carried
      sent?.(first + place * deviceStep, carried)
      template.write(bytes, written * template.bytes, this.#addresses[place] as number, sequence, carried)
    }
    this.unacknowledged += count
    this.#socket?.write(bytes)
  }

  /** The next frame is that of the first device. */
  turnAnew(): void {
    this.#turn = 0
  }

  #sayHello(): void {
    const { count, first, step, prefix } = this.#options
    while (this.#hellos < count && this.#hellos - this.#welcomed < hellosUnansweredMax) {
      const deviceIdentifier = identifierOf(prefix, first + this.#hellos * step)
      this.#places.set(deviceIdentifier, this.#hellos++)
      this.#socket?.write(clientFrame(packr.pack(this.#hello(deviceIdentifier))))
    }
  }

  #hello(deviceIdentifier: string): object {
    const properties = Array.from({ length: this.#options.properties }, (_, place) => ({
      propId: firstPropId + place,
      type: 'FLOAT',
      modifier: { isReadOnly: true },
    }))
    const asked = this.#options.isAnswering ? [{ propId: firstPropId + properties.length, type: 'UINT32' }] : []
    const service = { serviceIdentifier, properties: [...properties, ...asked] }
    return { type: 'HELLO', deviceIdentifier, session: sessionName, services: [service] }
  }

  #heard(bytes: Buffer, start: number, end: number, opcode: number): void {
    if (opcode === opcodes.ping) this.#socket?.pong(bytes.subarray(start, end))
    else if (opcode === opcodes.close) this.#fail(`a link was closed: ${bytes.toString('latin1', start + 2, end)}`)
    else if (bytes[start] === arrayOfThree) this.#heardAck(bytes, start)
    else this.#heardMessage(unpackr.unpack(Buffer.from(bytes.subarray(start, end))) as Message)
  }

  #heardAck(bytes: Buffer, start: number): void {
    const address = integerAt(bytes, start + 3)
    const place = this.#placeOf.get(address)
    if (place === undefined) {
      this.#fail(`a frame of ${address} was acknowledged, which is none of this link's devices`)
      return
    }
    const sequence = integerAt(bytes, start + 3 + integerBytes(bytes[start + 3] as number))
    const before = this.#acknowledged[place] as number
    if (sequence > (this.#sent[place] as number)) {
      this.#fail(`frame ${sequence} of ${address} was acknowledged, which was never sent`)
      return
    }
    if (sequence <= before) {
      this.#fail(`frame ${sequence} of ${address} was acknowledged again, after ${before}`)
      return
    }
    this.#acknowledged[place] = sequence
    this.unacknowledged -= sequence - before
    const device = this.#options.first + place * this.#options.step
    const last = this.#sent[place] === sequence ? this.#numbers[place] : undefined
    for (let each = before + 1; each <= sequence; each++) {
      this.#options.acknowledged(device, each, each === sequence ? last : undefined)
    }
  }

  #heardMessage(message: Message): void {
    if (message.type === 'WRITE' && this.#options.isAnswering) {
      const { flakeAddress, id, updates } = message
      const results = updates.map(({ propId }) => ({ propId, status: 'OK' }))
      this.#socket?.write(clientFrame(packr.pack({ type: 'RESULT', flakeAddress, id, results })))
      return
    }
    if (message.type !== 'WELCOME') {
      this.#fail(`a link heard ${JSON.stringify(message)}`)
      return
    }
    const place = this.#places.get(message.deviceIdentifier)
    if (place === undefined) {
      this.#fail(`${message.deviceIdentifier} was welcomed, which said no HELLO or was welcome before`)
      return
    }
    this.#places.delete(message.deviceIdentifier)
    this.#addresses[place] = message.flakeAddress
    this.#placeOf.set(message.flakeAddress, place)
    this.#welcomed++
    if (this.#welcomed === this.#options.count) this.#isWelcome()
    else this.#sayHello()
  }

  #fail(message: string): void {
    const error = new Error(message)
    this.#options.failed(error)
    this.#isRefused(error)
  }
}

type Message = WelcomeMessage | WriteMessage

interface WelcomeMessage {
  readonly type: 'WELCOME'
  readonly deviceIdentifier: string
  readonly flakeAddress: number
}

interface WriteMessage {
  readonly type: 'WRITE'
  readonly flakeAddress: number
  readonly id: string
  readonly updates: readonly { readonly propId: number }[]
}

/** New at each start of a load, so that numbering begins at 1. */
const sessionName = `load-${process.pid}-${Date.now().toString(36)}`

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
