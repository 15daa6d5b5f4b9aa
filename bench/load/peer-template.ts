import { objectUpdated } from '#bench/bare/object-updated'
import { type FrameTemplate, firstPropId, serviceIdentifier } from '#bench/load/update-template'

/** Addresses have five digits, because all messages of a load must have the same length. */
const firstAddress = 10_000
/** The number of a change is the last value of its text, in hundredths, with seven digits. */
export const firstPeerNumber = 1_000_000
const sample = firstPeerNumber / 100 + 0.25
export const sampleDigits = '10000.25'
/** The number of a message in its session, where a system needs a number: with seven digits. */
export const firstSequence = 8_000_000
const sampleSequence = String(firstSequence)

/** Messages to a system that forwards texts, one for each device of a link. Only the numbers in them are replaced. */
export class PeerTemplate implements FrameTemplate {
  readonly bytes: number
  readonly #messages: readonly Buffer[]
  readonly #digitsAt: number
  /** Negative: messages have no number of their own. */
  readonly #sequenceAt: number

  constructor(messages: readonly Buffer[]) {
    this.#messages = messages
    this.bytes = messages[0]?.length ?? 0
    this.#digitsAt = messages[0]?.lastIndexOf(sampleDigits) ?? 0
    this.#sequenceAt = messages[0]?.indexOf(sampleSequence) ?? -1
    if (this.#digitsAt <= 0 || messages.some((each) => each.lastIndexOf(sampleDigits) !== this.#digitsAt))
      throw new Error('messages differ in length')
  }

  /** `address`: the index of the device on its link. */
  write(into: Buffer, at: number, address: number, sequence: number, number: number): void {
    this.#messages[address]?.copy(into, at)
    writeNumber(into, at + this.#digitsAt, number)
    if (this.#sequenceAt >= 0) (into as Buffer).write(String(firstSequence + sequence), at + this.#sequenceAt, 'latin1')
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
