import type { Authorizations } from '#bench/harness/identity'
import type { LengthOf } from '#bench/load/messages'
import type { Step } from '#bench/load/raw-socket'

/** The part of a system's protocol that the load needs. */
export interface Protocol {
  readonly lengthOf: LengthOf
  /** The answer to a message that is not a delivery; undefined if the message needs no answer. */
  answerTo?(bytes: Buffer, at: number, end: number): Uint8Array | undefined
  /** Returns where the last value of a delivery begins. Absent: the value begins after the last colon. */
  valueAt?(bytes: Buffer, at: number): number
  /** The first steps of a subscriber to all devices. */
  subscribe(place: Place): readonly Step[]
  introduce(place: Place & { readonly devices: readonly string[] }): readonly Step[]
  /** Set if the system acknowledges each message: then only acknowledgements count as deliveries. */
  readonly acknowledges?: true
  /** Returns one whole message. `slot`: the position of its device. */
  publish(device: string, payload: Buffer, slot: PublishSlot): Buffer
}

interface PublishSlot {
  /** Number of the link, as in `introduce`. */
  readonly link: number
  /** Index of the device on its link. */
  readonly place: number
}

export interface Place {
  readonly port: number
  readonly number: number
  readonly authorizations?: Authorizations | undefined
}

export function exactly(...bytes: readonly number[]): Step['answered'] {
  return (text) => (text === String.fromCharCode(...bytes) ? bytes.length : 0)
}

export function matching(pattern: RegExp): Step['answered'] {
  return (text) => (pattern.test(text) ? text.length : 0)
}
