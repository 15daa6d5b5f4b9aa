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

/** Takes the next bytes of a connection, and returns how many deliveries ended in them. */
export type MessageReader = (bytes: Buffer) => number

/**
 * Counts deliveries by their lengths, without their content: copying the bytes of thousands of sockets would cost the
 * load more than the server.
 */
export function messageCounter(lengthOf: LengthOf, other: OtherMessageHandler): MessageReader {
  /** The bytes of the last delivery that have not arrived yet. */
  let missing = 0
  /** The beginning of a message whose length is not known yet. */
  let rest: Buffer | undefined
  return (bytes) => {
    if (missing > bytes.length) {
      missing -= bytes.length
      return 0
    }
    let at = missing
    let count = at > 0 ? 1 : 0
    missing = 0
    if (rest) {
      const joined = Buffer.concat([rest, bytes.subarray(0, headBytesMax)])
      const length = lengthOf(joined, 0)
      if (length === 0) {
        if (joined.length > headBytesMax) throw new Error(`unreadable: ${joined.toString('latin1')}`)
        rest = joined
        return 0
      }
      at = Math.abs(length) - rest.length
      rest = undefined
      if (length < 0) other(joined, 0, -length)
      else if (at > bytes.length) missing = at - bytes.length
      else count++
    }
    while (at < bytes.length) {
      const length = lengthOf(bytes, at)
      if (length === 0) {
        rest = Buffer.from(bytes.subarray(at))
        break
      }
      if (length < 0) {
        other(bytes, at, at - length)
        at -= length
        continue
      }
      at += length
      if (at <= bytes.length) count++
      else missing = at - bytes.length
    }
    return count
  }
}

/** Passes every message to its handler. Copies only the bytes of an incomplete message. */
export function messageReader(
  lengthOf: LengthOf,
  onDelivery: DeliveryHandler,
  other: OtherMessageHandler,
): MessageReader {
  let rest: Buffer | undefined
  return (bytes) => {
    const input = rest ? Buffer.concat([rest, bytes]) : bytes
    let count = 0
    let at = 0
    while (at < input.length) {
      const length = lengthOf(input, at)
      const end = at + Math.abs(length)
      if (length === 0 || end > input.length) break
      if (length < 0) other(input, at, end)
      else if (onDelivery(input, at, end)) count++
      at = end
    }
    rest = at < input.length ? Buffer.from(input.subarray(at)) : undefined
    return count
  }
}
