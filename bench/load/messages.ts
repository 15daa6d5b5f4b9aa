/**
 * Length of the message at `at` in bytes; 0 while the length is unknown, or while a message that is not a delivery is
 * incomplete. Negative for a complete message that is not a delivery, and may need an answer.
 */
export type LengthOf = (bytes: Buffer, at: number) => number

export type OtherHandler = (bytes: Buffer, at: number, end: number) => void
/** Returns whether the delivery counts. */
export type DeliveryHandler = (bytes: Buffer, at: number, end: number) => boolean

/** Longer than the head of a message in every protocol. */
const headBytesMax = 512

/**
 * Counts deliveries by their lengths alone. Copying or keeping the bytes of thousands of sockets would cost the load
 * more than the server.
 */
export class MessageCounter {
  readonly #lengthOf: LengthOf
  readonly #other: OtherHandler
  #missing = 0
  /** The beginning of a message whose length is not known yet. */
  #rest: Buffer | undefined

  constructor(lengthOf: LengthOf, other: OtherHandler) {
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

/** Reads every delivery. Copies only incomplete deliveries. */
export class MessageReader {
  readonly #lengthOf: LengthOf
  readonly #onDelivery: DeliveryHandler
  readonly #other: OtherHandler
  #rest: Buffer | undefined

  constructor(lengthOf: LengthOf, onDelivery: DeliveryHandler, other: OtherHandler) {
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
