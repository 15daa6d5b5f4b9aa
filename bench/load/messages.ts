/**
 * The length in bytes of the message that begins at `at`. Positive: a delivery, which may be incomplete. Negative:
 * another message, which is complete and may need an answer. 0: not known yet, or another message that is incomplete.
 */
export type LengthOf = (bytes: Buffer, at: number) => number

/** Called with each message that is not a delivery. */
export type OtherMessageHandler = (bytes: Buffer, at: number, end: number) => void
/** Called with each delivery. Returns whether the delivery counts. */
export type DeliveryHandler = (bytes: Buffer, at: number, end: number) => boolean

/** In every protocol the head of a message is shorter. */
const headBytesMax = 512

/**
 * Counts deliveries by their lengths, without their content: copying the bytes of thousands of sockets would cost the
 * load more than the server.
 */
export class MessageCounter {
  readonly #lengthOf: LengthOf
  readonly #other: OtherMessageHandler
  /** The bytes of the last delivery that have not arrived yet. */
  #missing = 0
  /** The beginning of a message whose length is not known yet. */
  #rest: Buffer | undefined

  constructor(lengthOf: LengthOf, other: OtherMessageHandler) {
    this.#lengthOf = lengthOf
    this.#other = other
  }

  push(bytes: Buffer): number {
    if (this.#missing > bytes.length) {
      this.#missing -= bytes.length
      return 0
    }
    let at = this.#missing
    let count = at > 0 ? 1 : 0
    this.#missing = 0
    if (this.#rest) {
      const joined = Buffer.concat([this.#rest, bytes.subarray(0, headBytesMax)])
      const length = this.#lengthOf(joined, 0)
      if (length === 0) {
        if (joined.length > headBytesMax) throw new Error(`unreadable: ${joined.toString('latin1')}`)
        this.#rest = joined
        return 0
      }
      at = Math.abs(length) - this.#rest.length
      this.#rest = undefined
      if (length < 0) this.#other(joined, 0, -length)
      else if (at > bytes.length) this.#missing = at - bytes.length
      else count++
    }
    while (at < bytes.length) {
      const length = this.#lengthOf(bytes, at)
      if (length === 0) {
        this.#rest = Buffer.from(bytes.subarray(at))
        break
      }
      if (length < 0) {
        this.#other(bytes, at, at - length)
        at -= length
        continue
      }
      at += length
      if (at <= bytes.length) count++
      else this.#missing = at - bytes.length
    }
    return count
  }
}

/** Passes every message to its handler. Copies only the bytes of an incomplete message. */
export class MessageReader {
  readonly #lengthOf: LengthOf
  readonly #onDelivery: DeliveryHandler
  readonly #other: OtherMessageHandler
  #rest: Buffer | undefined

  constructor(lengthOf: LengthOf, onDelivery: DeliveryHandler, other: OtherMessageHandler) {
    this.#lengthOf = lengthOf
    this.#onDelivery = onDelivery
    this.#other = other
  }

  push(bytes: Buffer): number {
    const input = this.#rest ? Buffer.concat([this.#rest, bytes]) : bytes
    let count = 0
    let at = 0
    while (at < input.length) {
      const length = this.#lengthOf(input, at)
      const end = at + Math.abs(length)
      if (length === 0 || end > input.length) break
      if (length < 0) this.#other(input, at, end)
      else if (this.#onDelivery(input, at, end)) count++
      at = end
    }
    this.#rest = at < input.length ? Buffer.from(input.subarray(at)) : undefined
    return count
  }
}
