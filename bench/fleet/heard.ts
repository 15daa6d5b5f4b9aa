import type { SimulatedDevice } from '#bench/fleet/device'
import { encodeChange, isSameValue, jsonForm } from '#bench/fleet/encoding'

/** An OBJECT_UPDATED as it comes out of the stream (§6, contract 4). */
export interface HeardUpdate {
  readonly deviceIdentifier: string
  readonly serviceIdentifier: string
  readonly updates: readonly HeardItem[]
}

export interface HeardItem {
  readonly propId: number
  readonly tag?: string
  readonly value?: unknown
}

/** What a comparison of a fleet with what was heard of it came to. All counts are frames but where it says so. */
export interface HeardReport {
  readonly acknowledged: number
  /** Acknowledged and heard. */
  readonly found: number
  /** Acknowledged and not heard. */
  readonly lost: number
  /** Heard, and never acknowledged: stored just before a crash, say. */
  readonly unacknowledged: number
  /** Heard a second time. */
  readonly doubled: number
  /** Heard after a later one of the same device. */
  readonly disordered: number
  /** Heard with a wrong value, wrong items, or without ever having been sent. */
  readonly wrong: number
  /** Refused by the server, and heard. */
  readonly refusedHeard: number
  readonly changesHeard: number
  readonly details: readonly string[]
}

interface DeviceBooks {
  readonly device: SimulatedDevice
  /** One bit a frame. */
  bits: Uint8Array
  last: number
  /** What `mark` noted. */
  settledAtMark: number
  constantsHeard: number
}

const detailsKeptMax = 40

/**
 * Holds what was heard on the stream against what a fleet sent: every frame is found once, in its device's order, with
 * exactly the items that were sent.
 *
 * The stream must be whole (resumed, or read by a socket that keeps up): one that is behind is told only the newest
 * value of each property (contract 4.5), and its frames would count as lost or wrong here.
 */
export class HeardBooks {
  readonly #books = new Map<string, DeviceBooks>()
  readonly #details: string[] = []
  #doubled = 0
  #disordered = 0
  #wrong = 0
  #changes = 0

  constructor(devices: readonly SimulatedDevice[]) {
    for (const device of devices) {
      this.#books.set(device.identifier, {
        device,
        bits: new Uint8Array(64),
        last: 0,
        settledAtMark: 0,
        constantsHeard: 0,
      })
    }
  }

  /** Answers false when the event is of a device of another fleet. */
  hear(event: HeardUpdate): boolean {
    const books = this.#books.get(event.deviceIdentifier)
    if (!books) return false
    if (this.#isConstant(books, event)) return true
    const { device } = books
    const number = device.plan.frameNumberOf(event.serviceIdentifier, event.updates)
    if (number === undefined || number > device.sent) {
      this.#wrong++
      this.#note(`${device.identifier}: heard what was never sent: ${JSON.stringify(event).slice(0, 400)}`)
      return true
    }
    this.#changes += event.updates.length
    this.#checkItems(books, number, event)
    this.#place(books, number)
    return true
  }

  /** Notes what is acknowledged by now; `missingSinceMark` tells later whether all of it was heard. */
  mark(): void {
    for (const books of this.#books.values()) books.settledAtMark = books.device.settled
  }

  /** Devices of which something that was acknowledged at the mark was not heard yet. Costs next to nothing. */
  missingSinceMark(): readonly string[] {
    const missing: string[] = []
    for (const { device, last, settledAtMark } of this.#books.values()) {
      for (let frame = last + 1; frame <= settledAtMark; frame++) {
        if (!device.isAcknowledged(frame)) continue
        missing.push(`${device.identifier}: frame ${frame} was acknowledged, heard up to ${last}`)
        break
      }
    }
    return missing
  }

  report(): HeardReport {
    const counts = { acknowledged: 0, found: 0, lost: 0, unacknowledged: 0, refusedHeard: 0 }
    const details = [...this.#details]
    for (const { device, bits } of this.#books.values()) {
      for (let frame = 1; frame <= device.sent; frame++) {
        const isHeard = hasBit(bits, frame)
        if (device.isAcknowledged(frame)) {
          counts.acknowledged++
          if (isHeard) counts.found++
          else if (++counts.lost <= detailsKeptMax) details.push(`${device.identifier}: frame ${frame} is lost`)
        } else if (isHeard && device.refused.has(frame)) counts.refusedHeard++
        else if (isHeard) counts.unacknowledged++
      }
    }
    return {
      ...counts,
      doubled: this.#doubled,
      disordered: this.#disordered,
      wrong: this.#wrong,
      changesHeard: this.#changes,
      details,
    }
  }

  /** The value that HELLO declares is said once in the life of a device. */
  #isConstant(books: DeviceBooks, event: HeardUpdate): boolean {
    const { device } = books
    const constants = event.updates.filter(
      ({ propId }) => device.plan.property(event.serviceIdentifier, propId)?.isConstant,
    )
    if (constants.length === 0) return false
    for (const { propId, value } of constants) {
      const property = device.plan.property(event.serviceIdentifier, propId)
      const isRight = property && isSameValue(jsonForm(encodeChange(property, device.index, 0)), value)
      if (isRight && constants.length === event.updates.length && ++books.constantsHeard === 1) continue
      this.#wrong++
      this.#note(`${device.identifier}: HELLO value heard ${books.constantsHeard} times: ${JSON.stringify(event)}`)
    }
    return true
  }

  #checkItems(books: DeviceBooks, number: number, event: HeardUpdate): void {
    const { device } = books
    const { service, changes } = device.frame(number)
    const isRight =
      service.serviceIdentifier === event.serviceIdentifier &&
      changes.length === event.updates.length &&
      changes.every(({ property, value }, place) => {
        const item = event.updates[place]
        return item?.propId === property.propId && item.tag === 'value' && isSameValue(jsonForm(value), item.value)
      })
    if (isRight) return
    this.#wrong++
    const sent = JSON.stringify(changes.map((it) => [it.property.propId, jsonForm(it.value)]))
    this.#note(`${device.identifier}: frame ${number} was ${sent}, heard ${JSON.stringify(event).slice(0, 400)}`)
  }

  #place(books: DeviceBooks, number: number): void {
    const { device } = books
    if (hasBit(books.bits, number)) {
      this.#doubled++
      this.#note(`${device.identifier}: frame ${number} was heard twice`)
      return
    }
    if (number < books.last) {
      this.#disordered++
      this.#note(`${device.identifier}: frame ${number} was heard after frame ${books.last}`)
    }
    books.last = Math.max(books.last, number)
    books.bits = withBit(books.bits, number)
  }

  #note(detail: string): void {
    if (this.#details.length < detailsKeptMax) this.#details.push(detail)
  }
}

function hasBit(bits: Uint8Array, index: number): boolean {
  return ((bits[index >>> 3] ?? 0) & (1 << (index & 7))) !== 0
}

function withBit(bits: Uint8Array, index: number): Uint8Array {
  let grown = bits
  if (index >>> 3 >= bits.length) {
    grown = new Uint8Array(Math.max(bits.length * 2, (index >>> 3) + 1))
    grown.set(bits)
  }
  grown[index >>> 3] = (grown[index >>> 3] ?? 0) | (1 << (index & 7))
  return grown
}
