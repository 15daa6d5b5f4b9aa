import { isDeepStrictEqual } from 'node:util'
import type { SimulatedDevice } from '#bench/fleet/device'
import { encodeChange, jsonForm } from '#bench/fleet/encoding'
import type { Change } from '#bench/fleet/frames'
import { controlsService } from '#bench/fleet/kinds'

/** An OBJECT_UPDATED of the stream (§6, contract 4). */
export interface HeardUpdate {
  readonly deviceIdentifier: string
  readonly serviceIdentifier: string
  readonly updates: readonly HeardItem[]
}

interface HeardItem {
  readonly propId: number
  readonly tag?: string
  readonly value?: unknown
}

/** The result of comparing a fleet with the events received about it. Counts are frames unless noted. */
export interface HeardReport {
  readonly acknowledged: number
  readonly found: number
  /** Acknowledged and not received, but a newer event of each property was: allowed for slow subscribers. */
  readonly overridden: number
  readonly lost: number
  /** Received without values that a newer event overrides: allowed for slow subscribers. */
  readonly stripped: number
  /** Received, and never acknowledged: for example stored just before a crash. */
  readonly unacknowledged: number
  readonly doubled: number
  /** Received after a later one of the same device. */
  readonly disordered: number
  /** Received with wrong values or items, or never sent. */
  readonly wrong: number
  readonly refusedHeard: number
  readonly changesHeard: number
  readonly details: readonly string[]
}

interface DeviceBooks {
  readonly device: SimulatedDevice
  bits: Uint8Array
  last: number
  settledAtMark: number
  constantsHeard: number
  /** The last received frame with a value of this property, by service and id. */
  readonly lastOf: Map<string, number>
  /** Values that were left out: a newer event must override them. */
  readonly leftOut: { readonly frame: number; readonly key: string }[]
  /** Events that contain only narrow values; the next event with a wide value limits which frames they can be. */
  readonly unplaced: HeardUpdate[]
  /** Frames that such an event can be. */
  readonly maybe: Set<number>
}

/**
 * `whole`: a subscriber that keeps up or resumes receives everything. `newest`: one that falls behind may miss values
 * that a later event overrides (contract 4.5).
 */
export type HearingRule = 'whole' | 'newest'

const detailsKeptMax = 40
/** How many frames after the last one are searched for matching narrow values. */
const searchFramesMax = 1_000

/**
 * Compares the events received on the stream with the frames that a fleet sent: every frame occurs once, in the order
 * of its device, with exactly the items that were sent, except for results of writes. A value may be left out only if a
 * newer one of the same property was received.
 */
export class HeardBooks {
  readonly #books = new Map<string, DeviceBooks>()
  readonly #details: string[] = []
  readonly #rule: HearingRule
  #doubled = 0
  #disordered = 0
  #wrong = 0
  #stripped = 0
  #changes = 0

  constructor(devices: readonly SimulatedDevice[], rule: HearingRule = 'whole') {
    this.#rule = rule
    for (const device of devices) {
      this.#books.set(device.identifier, {
        device,
        bits: new Uint8Array(64),
        last: 0,
        settledAtMark: 0,
        constantsHeard: 0,
        lastOf: new Map(),
        leftOut: [],
        unplaced: [],
        maybe: new Set(),
      })
    }
  }

  /** Returns false when the event is of a device of another fleet. */
  hear(event: HeardUpdate): boolean {
    const books = this.#books.get(event.deviceIdentifier)
    if (!books) return false
    if (event.serviceIdentifier === controlsService.serviceIdentifier) return true
    if (this.#isConstant(books, event)) return true
    const { device } = books
    const number = device.plan.frameNumberOf(event.serviceIdentifier, event.updates)
    if (number === undefined && this.#rule === 'newest') {
      books.unplaced.push(event)
      return true
    }
    if (number === undefined || number > device.sent) {
      this.#wrong++
      this.#note(`${device.identifier}: heard what was never sent: ${JSON.stringify(event).slice(0, 400)}`)
      return true
    }
    this.#placeUnplaced(books, number)
    this.#changes += event.updates.length
    this.#checkItems(books, number, event)
    this.#place(books, number)
    return true
  }

  /** Records which frames are acknowledged now; `missingSinceMark` returns those that were not received. */
  mark(): void {
    for (const books of this.#books.values()) books.settledAtMark = books.device.settled
  }

  /** Devices of which a frame that was acknowledged at the mark was not received yet. Very cheap. */
  missingSinceMark(): readonly string[] {
    const missing: string[] = []
    for (const { device, last, settledAtMark, unplaced } of this.#books.values()) {
      if (unplaced.length > 0) continue
      for (let frame = last + 1; frame <= settledAtMark; frame++) {
        if (!device.isAcknowledged(frame) || device.isOfControls(frame)) continue
        missing.push(`${device.identifier}: frame ${frame} was acknowledged, heard up to ${last}`)
        break
      }
    }
    return missing
  }

  report(): HeardReport {
    const counts = { acknowledged: 0, found: 0, overridden: 0, lost: 0, unacknowledged: 0, refusedHeard: 0 }
    const details: string[] = []
    let neverOverridden = 0
    for (const books of this.#books.values()) {
      const { device, bits } = books
      this.#placeUnplaced(books, device.sent + 1)
      for (let frame = 1; frame <= device.sent; frame++) {
        if (device.isOfControls(frame)) continue
        const isHeard = hasBit(bits, frame)
        if (device.isAcknowledged(frame)) {
          counts.acknowledged++
          if (isHeard) counts.found++
          else if (this.#rule === 'newest' && isFrameOverridden(books, frame)) counts.overridden++
          else if (++counts.lost <= detailsKeptMax) details.push(`${device.identifier}: frame ${frame} is lost`)
        } else if (isHeard && device.refused.has(frame)) counts.refusedHeard++
        else if (isHeard) counts.unacknowledged++
      }
      for (const { frame, key } of books.leftOut) {
        if ((books.lastOf.get(key) ?? 0) > frame) continue
        neverOverridden++
        details.push(`${device.identifier}: ${key} was left out of frame ${frame}, and no newer value was heard`)
      }
    }
    return {
      ...counts,
      doubled: this.#doubled,
      disordered: this.#disordered,
      wrong: this.#wrong + neverOverridden,
      stripped: this.#stripped,
      changesHeard: this.#changes,
      details: [...this.#details, ...details],
    }
  }

  /** The value that HELLO declares is published once in the life of a device. */
  #isConstant(books: DeviceBooks, event: HeardUpdate): boolean {
    const { device } = books
    const constants = event.updates.filter(
      ({ propId }) => device.plan.property(event.serviceIdentifier, propId)?.isConstant,
    )
    if (constants.length === 0) return false
    for (const { propId, value } of constants) {
      const property = device.plan.property(event.serviceIdentifier, propId)
      const isRight = property && isDeepStrictEqual(jsonForm(encodeChange(property, device.index, 0)), value)
      if (isRight && constants.length === event.updates.length && ++books.constantsHeard === 1) continue
      this.#wrong++
      this.#note(`${device.identifier}: HELLO value heard ${books.constantsHeard} times: ${JSON.stringify(event)}`)
    }
    return true
  }

  #checkItems(books: DeviceBooks, number: number, event: HeardUpdate): void {
    const { device } = books
    const { service, changes } = device.frame(number)
    const leftOut = service.serviceIdentifier === event.serviceIdentifier ? changesLeftOut(changes, event) : undefined
    const { length: leftOutCount } = leftOut ?? []
    if (!leftOut || (leftOutCount > 0 && this.#rule === 'whole')) {
      this.#wrong++
      const sent = JSON.stringify(changes.map((it) => [it.property.propId, jsonForm(it.value)]))
      this.#note(`${device.identifier}: frame ${number} was ${sent}, heard ${JSON.stringify(event).slice(0, 400)}`)
      return
    }
    if (leftOutCount > 0) this.#stripped++
    for (const { property } of leftOut) books.leftOut.push({ frame: number, key: keyOf(event, property) })
    for (const item of event.updates) books.lastOf.set(keyOf(event, item), number)
  }

  /**
   * Each event with only narrow values is one of the frames between the last known one and `below`. It may match
   * several: a BOOL fits every other frame.
   */
  #placeUnplaced({ device, last, unplaced, maybe, lastOf }: DeviceBooks, below: number): void {
    for (const event of unplaced.splice(0)) {
      let latest: number | undefined
      for (let number = last + 1; number < Math.min(below, last + searchFramesMax); number++) {
        const { service, changes } = device.frame(number)
        if (service.serviceIdentifier !== event.serviceIdentifier || !changesLeftOut(changes, event)) continue
        maybe.add(number)
        latest = number
      }
      if (latest === undefined) {
        this.#wrong++
        this.#note(
          `${device.identifier}: fits no frame from ${last} to ${below}: ${JSON.stringify(event).slice(0, 400)}`,
        )
        continue
      }
      this.#stripped++
      this.#changes += event.updates.length
      for (const item of event.updates) lastOf.set(keyOf(event, item), latest)
    }
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

/** The changes of a frame that an event leaves out; undefined if the event contains other changes or another order. */
function changesLeftOut(changes: readonly Change[], event: HeardUpdate): readonly Change[] | undefined {
  const leftOut: Change[] = []
  let place = 0
  for (const change of changes) {
    const item = event.updates[place]
    const isSaid =
      item?.propId === change.property.propId &&
      item.tag === 'value' &&
      isDeepStrictEqual(jsonForm(change.value), item.value)
    if (isSaid) place++
    else leftOut.push(change)
  }
  return place === event.updates.length ? leftOut : undefined
}

function isFrameOverridden({ device, lastOf, maybe }: DeviceBooks, number: number): boolean {
  const { service, changes } = device.frame(number)
  const least = maybe.has(number) ? number : number + 1
  return changes.every(({ property }) => (lastOf.get(keyOf(service, property)) ?? 0) >= least)
}

const keyOf = ({ serviceIdentifier }: { serviceIdentifier: string }, { propId }: { propId: number }): string =>
  `${serviceIdentifier}/${propId}`

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
