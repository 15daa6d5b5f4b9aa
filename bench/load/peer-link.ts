import { objectUpdated } from '#bench/bare/object-updated'
import { identifierOf, type NumberOf, serviceIdentifier } from '#bench/load/fleet-link'
import { MessageCounter } from '#bench/load/messages'
import type { Protocol } from '#bench/load/protocol'
import { RawSocket } from '#bench/load/raw-socket'
import { firstPropId } from '#bench/load/update-template'

export interface PeerLinkOptions {
  readonly protocol: Protocol
  readonly port: number
  readonly prefix: string
  /** Index of the first device of this link, the distance to the next index, and the number of devices. */
  readonly first: number
  readonly step: number
  readonly count: number
  /** Called with the number of messages that were acknowledged since the last call. */
  readonly acknowledged: (messages: number) => void
  /** Called when more may be sent. */
  readonly onRead: () => void
  readonly failed: (error: Error) => void
}

/** Addresses have five digits, because all messages of a load must have the same length. */
const firstAddress = 10_000
/** The number of a change is the last value of its text, in hundredths, with seven digits. */
export const firstPeerNumber = 1_000_000
const sample = firstPeerNumber / 100 + 0.25
export const sampleDigits = '10000.25'
/** The number of a message in its session, where a system needs a number: with seven digits. */
export const firstSequence = 8_000_000
const sampleSequence = String(firstSequence)
const answerMsMax = 20_000

/**
 * A link with devices like those of `FleetLink`, to a system that forwards texts. For each change it sends the text
 * that this server would publish, to a topic of the device if the system has topics.
 */
export class PeerLink {
  /** Stays 0 for a system that acknowledges nothing. */
  unacknowledged = 0
  readonly #options: PeerLinkOptions
  #templates: readonly Buffer[] = []
  #digitsAt = 0
  /** Negative: messages have no number of their own. */
  #sequenceAt = -1
  readonly #sent: Uint32Array
  #socket: RawSocket | undefined
  #turn = 0

  constructor(options: PeerLinkOptions) {
    this.#options = options
    this.#sent = new Uint32Array(options.count)
  }

  async open(): Promise<void> {
    const { protocol, port, prefix, first, step, count, failed, acknowledged, onRead } = this.#options
    const counter = new MessageCounter(protocol.lengthOf, () => {})
    const received = (bytes: Buffer) => {
      if (!protocol.acknowledges) return
      try {
        const count = counter.push(bytes)
        this.unacknowledged -= count
        acknowledged(count)
        onRead()
      } catch (error) {
        failed(error as Error)
      }
    }
    const closed = () => failed(new Error('a link was closed'))
    const devices = Array.from({ length: count }, (_, place) => identifierOf(prefix, first + place * step))
    const steps = protocol.introduce({ port, number: first, devices })
    this.#socket = await RawSocket.connect({ port, received, closed, answerMsMax }, steps)
    this.#templates = devices.map((identifier, place) =>
      protocol.publish(identifier, payloadOf(first + place * step, identifier), { link: first, place }),
    )
    this.#digitsAt = this.#templates[0]?.lastIndexOf(sampleDigits) ?? 0
    this.#sequenceAt = this.#templates[0]?.indexOf(sampleSequence) ?? -1
    if (this.#digitsAt <= 0 || this.#templates.some((each) => each.lastIndexOf(sampleDigits) !== this.#digitsAt))
      throw new Error('messages differ in length')
  }

  get isSettled(): boolean {
    return this.unacknowledged === 0
  }

  send(count: number, numberOf: NumberOf): void {
    const templates = this.#templates
    const { protocol, first, step, acknowledged } = this.#options
    const numbers: number[] = []
    const sequences: number[] = []
    while (numbers.length < count) {
      const place = (this.#turn + numbers.length) % templates.length
      const sequence = (this.#sent[place] as number) + 1
      const number = numberOf(first + place * step, sequence, false)
      if (number === undefined) break
      this.#sent[place] = sequence
      numbers.push(number)
      sequences.push(sequence)
    }
    if (numbers.length === 0) return
    const size = templates[0]?.length ?? 0
    const bytes = Buffer.allocUnsafe(numbers.length * size)
    for (const [at, number] of numbers.entries()) {
      const template = templates[(this.#turn + at) % templates.length] as Buffer
      template.copy(bytes, at * size)
      writeNumber(bytes, at * size + this.#digitsAt, number)
      if (this.#sequenceAt >= 0)
        bytes.write(String(firstSequence + (sequences[at] as number)), at * size + this.#sequenceAt, 'latin1')
    }
    this.#turn = (this.#turn + numbers.length) % templates.length
    this.#socket?.write(bytes)
    if (protocol.acknowledges) this.unacknowledged += numbers.length
    else acknowledged(numbers.length)
  }

  resetRotation(): void {
    this.#turn = 0
    this.#sent.fill(0)
  }
}

/** The text that this server makes of a change, with a time and numbers as long as those of a load. */
export function payloadOf(device: number, identifier: string): Buffer {
  const address = firstAddress + device
  const items = [firstPropId, sample]
  return Buffer.from(
    JSON.stringify(objectUpdated(Date.now(), firstPeerNumber, address, identifier, serviceIdentifier, items)),
  )
}

const zero = 0x30
const pointFromEnd = 2

/** Writes `12345.67` for 1234567; the point is there already. */
function writeNumber(into: Buffer, at: number, number: number): void {
  let rest = number
  for (let place = sampleDigits.length - 1; place >= 0; place--) {
    if (place === sampleDigits.length - 1 - pointFromEnd) continue
    into[at + place] = zero + (rest % 10)
    rest = Math.floor(rest / 10)
  }
}
