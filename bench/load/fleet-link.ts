import { Packr, Unpackr } from 'msgpackr'
import { clientFrame } from '#bench/load/frames'
import { messageCounter } from '#bench/load/messages'
import { PeerTemplate, payloadOf } from '#bench/load/peer-template'
import type { Protocol } from '#bench/load/protocol'
import { RawSocket } from '#bench/load/raw-socket'
import { type FrameTemplate, firstPropId, serviceIdentifier } from '#bench/load/update-template'

const packr = new Packr({ useRecords: false })
const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' })

const hellosUnansweredMax = 64
const answerMsMax = 20_000
/** The random delay before a reconnect grows from this. */
const backoffMsMin = 50
/** First byte of a short ACK, `["A", flakeAddress, seq]`: an array of three. All other messages of the server are maps. */
const arrayOfThree = 0x93

/** A message of the server other than ACK. */
type LinkMessage = Readonly<Record<string, unknown>> & { readonly type: string; readonly flakeAddress: number }

/**
 * The number that frame `sequence` of a device carries; undefined while the frame is not due. `isAgain`: the frame was
 * sent on an earlier connection.
 */
export type NumberOf = (device: number, sequence: number, isAgain: boolean) => number | undefined

export interface Reconnecting {
  /** Called for each connection that ended (except by `cut`), each failed attempt to connect, and each ERROR. */
  readonly ended: (how: string) => void
  /** Returns a random number in [0, 1). */
  readonly chance: () => number
  readonly backoffMsMax: number
  /** After a reconnect a device sends its last stored frame again, which the server must not apply twice. */
  readonly isRepeating?: boolean
}

export interface FleetLinkOptions {
  readonly port: number
  readonly authorization?: string | undefined
  readonly localAddress?: string | undefined
  readonly prefix: string
  /** Index of the first device of this link, the distance to the next index, and the number of devices. */
  readonly first: number
  readonly step: number
  readonly count: number
  /** The fields of HELLO without type and identifier. */
  readonly hello: object
  /**
   * Called for each fault of the server; on a link that does not reconnect, also for an ERROR and when it is closed.
   */
  readonly failed: (error: Error) => void
  /** The link reconnects after a disconnect, and continues after the last stored frame. */
  readonly reconnecting?: Reconnecting | undefined
  /** Absent for a link whose devices report no values. */
  readonly template?: FrameTemplate | undefined
  /**
   * The protocol of a system that forwards texts. For each change the link sends the text that this server would
   * publish, to a topic of the device if the system has topics.
   */
  readonly protocol?: Protocol | undefined
  /** With a protocol, called with how many messages were acknowledged, or sent if the system acknowledges nothing. */
  readonly counted?: (messages: number) => void
  /**
   * Called for each acknowledged frame. `number`: the number in the frame; undefined if a later frame of the device was
   * already sent.
   */
  readonly acknowledged?: (device: number, sequence: number, number: number | undefined) => void
  readonly onRead?: () => void
}

/** Frames are written into this buffer, and a copy is sent. */
let scratch = Buffer.alloc(64 * 1024)

/** A gateway: sends HELLO for its devices, then frames in batches, and counts their acknowledgements. */
export class FleetLink {
  /** Stays 0 for a system that acknowledges nothing. */
  unacknowledged = 0
  /** For each device, the sequence of the last sent frame, and of the last acknowledged frame. */
  readonly sent: Uint32Array
  readonly acknowledged: Uint32Array
  readonly #options: FleetLinkOptions
  readonly #addresses: Uint32Array
  /** The last frame on this connection; below `sent` while frames are sent again. */
  readonly #last: Uint32Array
  readonly #numbers: Float64Array
  #template: FrameTemplate | undefined
  #placeOf = new Map<number, number>()
  #socket: RawSocket | undefined
  #welcomed = 0
  #hellos = 0
  #turn = 0
  #attempts = 0
  #isStopped = false
  #isCut = false
  #retry: NodeJS.Timeout | undefined
  #isWelcome: () => void = () => {}
  #isRefused: (error: Error) => void = () => {}

  constructor(options: FleetLinkOptions) {
    this.#options = options
    this.#template = options.template
    this.#addresses = new Uint32Array(options.count)
    this.sent = new Uint32Array(options.count)
    this.acknowledged = new Uint32Array(options.count)
    this.#last = new Uint32Array(options.count)
    this.#numbers = new Float64Array(options.count)
  }

  get isReady(): boolean {
    return this.#socket !== undefined && this.#welcomed === this.#options.count
  }

  /** Whether everything that was sent is acknowledged. */
  get isSettled(): boolean {
    const isAcknowledged = (sent: number, place: number) => sent === this.acknowledged[place]
    return this.isReady && this.unacknowledged === 0 && (!!this.#options.protocol || this.sent.every(isAcknowledged))
  }

  /** Resolves when each device is welcome. */
  async open(): Promise<void> {
    const welcome = new Promise<void>((resolve, reject) => {
      this.#isWelcome = resolve
      this.#isRefused = reject
    })
    const { protocol } = this.#options
    await Promise.all([protocol ? this.#connectTo(protocol) : this.#connect(), welcome])
  }

  close(): void {
    this.#isStopped = true
    clearTimeout(this.#retry)
    this.#socket?.close()
  }

  /** Breaks the connection without a close frame. */
  cut(): void {
    this.#isCut = true
    this.#socket?.close()
  }

  /** Sends at most `count` due frames of its devices in rotation. */
  send(count: number, numberOf: NumberOf): void {
    const { count: devices, first, step, reconnecting, protocol } = this.#options
    const template = this.#template
    if (!template) throw new Error('the devices of this link do not report')
    if (!this.isReady) return
    let written = 0
    for (let passed = 0; written < count && passed < devices; ) {
      const place = this.#turn
      const sequence = (this.#last[place] as number) + 1
      const number = numberOf(first + place * step, sequence, sequence <= (this.sent[place] as number))
      // Frames become due in rotation, so none after this one is due. Frames that are sent again have no such order.
      if (number === undefined && !reconnecting) break
      this.#turn = place + 1 === devices ? 0 : place + 1
      if (number === undefined) {
        passed++
        continue
      }
      passed = 0
      this.#last[place] = sequence
      if (sequence > (this.sent[place] as number)) this.sent[place] = sequence
      this.#numbers[place] = number
      const at = written++ * template.bytes
      if (at + template.bytes > scratch.length) scratch = Buffer.concat([scratch, Buffer.alloc(scratch.length)])
      template.write(scratch, at, this.#addresses[place] as number, sequence, number)
    }
    if (written === 0) return
    if (protocol && !protocol.acknowledges) this.#options.counted?.(written)
    else this.unacknowledged += written
    this.#socket?.write(Buffer.from(scratch.subarray(0, written * template.bytes)))
  }

  /** The next frame is of the first device. Without acknowledgements of each frame, numbering begins at 1 again. */
  resetRotation(): void {
    this.#turn = 0
    if (!this.#options.protocol) return
    this.sent.fill(0)
    this.#last.fill(0)
  }

  async #connectTo(protocol: Protocol): Promise<void> {
    const { port, prefix, first, step, count, counted, onRead } = this.#options
    const countIn = messageCounter(protocol.lengthOf, () => {})
    const received = (bytes: Buffer) => {
      if (!protocol.acknowledges) return
      try {
        const acknowledged = countIn(bytes)
        this.unacknowledged -= acknowledged
        counted?.(acknowledged)
        onRead?.()
      } catch (error) {
        this.#fail((error as Error).message)
      }
    }
    const devices = Array.from({ length: count }, (_, place) => identifierOf(prefix, first + place * step))
    const steps = protocol.introduce({ port, number: first, devices })
    const closed = () => this.#closed(true, 'by the system')
    this.#socket = await RawSocket.connect({ port, received, closed, answerMsMax }, steps)
    this.#template = new PeerTemplate(
      devices.map((device, place) =>
        protocol.publish(device, payloadOf(first + place * step, device), { link: first, place }),
      ),
    )
    for (let place = 0; place < count; place++) this.#addresses[place] = place
    this.#welcomed = count
    this.#isWelcome()
  }

  async #connect(): Promise<void> {
    const { port, authorization, localAddress, count, reconnecting } = this.#options
    this.#isCut = false
    let isOpen = false
    try {
      this.#socket = await RawSocket.open({
        ...{ port, path: '/api/v1/link', protocol: 'link.v1.msgpack', authorization },
        ...(localAddress !== undefined && { localAddress }),
        onMessage: (bytes, start, end) => this.#onMessage(bytes, start, end),
        onRead: this.#options.onRead,
        closed: (how) => this.#closed(isOpen, how),
      })
      isOpen = true
      if (count === 0) this.#isWelcome()
      this.#greetMore()
    } catch (error) {
      if (!reconnecting) throw error
      if (!this.#isStopped) reconnecting.ended(/HTTP\/1\.1 (\d{3})/.exec(String(error))?.[1] ?? 'not let in')
    }
  }

  #closed(wasOpen: boolean, how: string): void {
    if (this.#isStopped) return
    const { reconnecting } = this.#options
    if (!reconnecting) {
      this.#fail(`a link was closed: ${how}`)
      return
    }
    if (wasOpen && !this.#isCut) reconnecting.ended(how)
    this.#socket = undefined
    this.#placeOf = new Map()
    this.#hellos = 0
    this.#welcomed = 0
    this.unacknowledged = 0
    const ceiling = Math.min(reconnecting.backoffMsMax, backoffMsMin * 2 ** Math.min(this.#attempts++, 10))
    this.#retry = setTimeout(() => void this.#connect(), ceiling / 2 + (reconnecting.chance() * ceiling) / 2)
  }

  #greetMore(): void {
    const { count, first, step, prefix, hello } = this.#options
    while (this.#hellos < count && this.#hellos - this.#welcomed < hellosUnansweredMax) {
      const deviceIdentifier = identifierOf(prefix, first + this.#hellos++ * step)
      this.#socket?.write(clientFrame(packr.pack({ type: 'HELLO', deviceIdentifier, ...hello })))
    }
  }

  #onMessage(bytes: Buffer, start: number, end: number): void {
    if (bytes[start] === arrayOfThree) this.#handleAck(bytes, start)
    else this.#handleMessage(unpackr.unpack(Buffer.from(bytes.subarray(start, end))) as LinkMessage)
  }

  #handleAck(bytes: Buffer, start: number): void {
    const address = integerAt(bytes, start + 3)
    const place = this.#placeOf.get(address)
    const sequence = integerAt(bytes, start + 3 + integerBytes(bytes[start + 3] as number))
    if (place === undefined || sequence > (this.#last[place] as number)) {
      this.#fail(`ACK for frame ${sequence} of ${address}, which was not sent`)
      return
    }
    const before = this.acknowledged[place] as number
    if (sequence <= before) return
    this.acknowledged[place] = sequence
    this.unacknowledged -= sequence - before
    const { first, step, acknowledged } = this.#options
    if (!acknowledged) return
    const last = this.#last[place] === sequence ? this.#numbers[place] : undefined
    for (let each = before + 1; each <= sequence; each++) {
      acknowledged(first + place * step, each, each === sequence ? last : undefined)
    }
  }

  #handleMessage(message: LinkMessage): void {
    const { reconnecting } = this.#options
    if (message.type === 'WELCOME') this.#welcome(message)
    else if (message.type === 'ERROR' && reconnecting) reconnecting.ended(`ERROR ${message.code}`)
    else this.#fail(`a link received ${JSON.stringify(message)}`)
  }

  #welcome({ deviceIdentifier, flakeAddress, seq }: LinkMessage): void {
    const { prefix, first, step, count, reconnecting } = this.#options
    const place = (Number(String(deviceIdentifier).slice(prefix.length + 1)) - first) / step
    const [stored, sent, acknowledged] = [Number(seq), this.sent[place], this.acknowledged[place]]
    if (sent === undefined || acknowledged === undefined)
      this.#fail(`WELCOME of ${deviceIdentifier}, which sent no HELLO`)
    else if (stored < acknowledged || stored > sent)
      this.#fail(`${deviceIdentifier}: stored is ${stored}, ${sent} was sent, and ${acknowledged} acknowledged`)
    this.acknowledged[place] = stored
    const isRepeated = reconnecting?.isRepeating === true && stored > 0
    this.#last[place] = isRepeated ? stored - 1 : stored
    // The acknowledgement of the repeated frame is not counted.
    if (isRepeated) this.unacknowledged--
    this.#addresses[place] = flakeAddress
    this.#placeOf.set(flakeAddress, place)
    this.#attempts = 0
    if (++this.#welcomed === count) this.#isWelcome()
    else this.#greetMore()
  }

  #fail(message: string): void {
    const error = new Error(message)
    this.#options.failed(error)
    this.#isRefused(error)
  }
}

/** HELLO of a device that reports numbers. Each start of a load is a new session: numbering begins at 1. */
export function reportingHello(properties: number, service = serviceIdentifier): object {
  const declared = Array.from({ length: properties }, (_, place) => ({
    ...{ propId: firstPropId + place, type: 'FLOAT', modifier: { isReadOnly: true } },
  }))
  return { session: sessionName, services: [{ serviceIdentifier: service, properties: declared }] }
}

const sessionName = `load-${process.pid}-${Date.now().toString(36)}`

export function identifierOf(prefix: string, device: number): string {
  return `${prefix}-${String(device).padStart(7, '0')}`
}

/** msgpack: positive fixint, uint 8, 16, 32 and 64. */
function integerAt(bytes: Buffer, at: number): number {
  const tag = bytes[at] as number
  if (tag < 0x80) return tag
  if (tag === 0xcc) return bytes[at + 1] as number
  if (tag === 0xcd) return bytes.readUInt16BE(at + 1)
  if (tag === 0xce) return bytes.readUInt32BE(at + 1)
  return Number(bytes.readBigUInt64BE(at + 1))
}

function integerBytes(tag: number): number {
  return tag < 0x80 ? 1 : 1 + 2 ** (tag - 0xcc)
}
