import { isDeepStrictEqual } from 'node:util'
import type { SimulatedDevice } from '#bench/fleet/device'
import { encodeChange, jsonForm } from '#bench/fleet/encoding'
import type { Change } from '#bench/fleet/frames'
import { controlsService } from '#bench/fleet/kinds'

/** An OBJECT_UPDATED of the stream (§6, contract 4). */
export interface ReceivedUpdate {
  readonly deviceIdentifier: string
  readonly serviceIdentifier: string
  readonly updates: readonly ReceivedItem[]
}

interface ReceivedItem {
  readonly propId: number
  readonly tag?: string
  readonly value?: unknown
}

/** The result of comparing a fleet with the events received about it. Counts are frames unless noted. */
export interface ComparisonReport {
  readonly acknowledged: number
  readonly found: number
  /** Acknowledged and not received. */
  readonly lost: number
  /** Received, and never acknowledged: for example stored just before a crash. */
  readonly unacknowledged: number
  readonly doubled: number
  readonly disordered: number
  /** Received with wrong values or items, or never sent. */
  readonly wrong: number
  readonly refusedReceived: number
  readonly changesReceived: number
  readonly details: readonly string[]
}

interface DeviceRecord {
  readonly device: SimulatedDevice
  bits: Uint8Array
  last: number
  settledAtMark: number
  constantsReceived: number
  /** The last event had only narrow values: it is of some frame after `last`. */
  isUnplaced: boolean
}

/**
 * `whole`: a subscriber that keeps up or resumes receives everything. `newest`: one that falls behind may miss values
 * that a later event overrides (contract 4.5); its folded state shows whether it received the newest.
 */
export type ComparisonRule = 'whole' | 'newest'

const detailsKeptMax = 40

/**
 * Compares the events received on the stream with the frames that a fleet sent: every frame occurs once, in the order
 * of its device, with exactly the items that were sent, except for results of writes.
 */
export class StreamComparison {
  readonly #record = new Map<string, DeviceRecord>()
  readonly #details: string[] = []
  readonly #rule: ComparisonRule
  #doubled = 0
  #disordered = 0
  #wrong = 0
  #changes = 0

  constructor(devices: readonly SimulatedDevice[], rule: ComparisonRule = 'whole') {
    this.#rule = rule
    for (const device of devices) {
      this.#record.set(device.identifier, {
        device,
        bits: new Uint8Array(64),
        last: 0,
        settledAtMark: 0,
        constantsReceived: 0,
        isUnplaced: false,
      })
    }
  }

  /** Returns false when the event is of a device of another fleet. */
  add(event: ReceivedUpdate): boolean {
    const record = this.#record.get(event.deviceIdentifier)
    if (!record) return false
    if (event.serviceIdentifier === controlsService.serviceIdentifier) return true
    if (this.#isConstant(record, event)) return true
    const { device } = record
    const number = device.plan.frameNumberOf(event.serviceIdentifier, event.updates)
    if (number === undefined && this.#rule === 'newest') {
      record.isUnplaced = true
      return true
    }
    if (number === undefined || number > device.sent) {
      this.#wrong++
      this.#note(`${device.identifier}: received an event that was never sent: ${JSON.stringify(event).slice(0, 400)}`)
      return true
    }
    record.isUnplaced = false
    this.#changes += event.updates.length
    this.#checkItems(record, number, event)
    this.#place(record, number)
    return true
  }

  /** Records which frames are acknowledged now; `missingSinceMark` returns those that were not received. */
  mark(): void {
    for (const record of this.#record.values()) record.settledAtMark = record.device.settled
  }

  /** Devices of which a frame that was acknowledged at the mark was not received yet. Very cheap. */
  missingSinceMark(): readonly string[] {
    const missing: string[] = []
    for (const { device, last, settledAtMark, isUnplaced } of this.#record.values()) {
      if (isUnplaced) continue
      for (let frame = last + 1; frame <= settledAtMark; frame++) {
        if (!device.isAcknowledged(frame) || device.isOfControls(frame)) continue
        missing.push(`${device.identifier}: frame ${frame} was acknowledged, received up to ${last}`)
        break
      }
    }
    return missing
  }

  report(): ComparisonReport {
    const counts = { acknowledged: 0, found: 0, lost: 0, unacknowledged: 0, refusedReceived: 0 }
    const details: string[] = []
    for (const { device, bits } of this.#record.values()) {
      for (let frame = 1; frame <= device.sent; frame++) {
        if (device.isOfControls(frame)) continue
        const isReceived = hasBit(bits, frame)
        if (device.isAcknowledged(frame)) {
          counts.acknowledged++
          if (isReceived) counts.found++
          else if (this.#rule === 'whole' && ++counts.lost <= detailsKeptMax)
            details.push(`${device.identifier}: frame ${frame} is lost`)
        } else if (isReceived && device.refused.has(frame)) counts.refusedReceived++
        else if (isReceived) counts.unacknowledged++
      }
    }
    return {
      ...counts,
      doubled: this.#doubled,
      disordered: this.#disordered,
      wrong: this.#wrong,
      changesReceived: this.#changes,
      details: [...this.#details, ...details],
    }
  }

  /** The value that HELLO declares is published once in the life of a device. */
  #isConstant(record: DeviceRecord, event: ReceivedUpdate): boolean {
    const { device } = record
    const constants = event.updates.filter(
      ({ propId }) => device.plan.property(event.serviceIdentifier, propId)?.isConstant,
    )
    if (constants.length === 0) return false
    for (const { propId, value } of constants) {
      const property = device.plan.property(event.serviceIdentifier, propId)
      const isRight = property && isDeepStrictEqual(jsonForm(encodeChange(property, device.index, 0)), value)
      if (isRight && constants.length === event.updates.length && ++record.constantsReceived === 1) continue
      this.#wrong++
      this.#note(
        `${device.identifier}: HELLO value received ${record.constantsReceived} times: ${JSON.stringify(event)}`,
      )
    }
    return true
  }

  #checkItems({ device }: DeviceRecord, number: number, event: ReceivedUpdate): void {
    const { service, changes } = device.frame(number)
    const leftOut = service.serviceIdentifier === event.serviceIdentifier ? changesLeftOut(changes, event) : undefined
    if (leftOut === 0 || (leftOut !== undefined && this.#rule === 'newest')) return
    this.#wrong++
    const sent = JSON.stringify(changes.map((it) => [it.property.propId, jsonForm(it.value)]))
    this.#note(`${device.identifier}: frame ${number} was ${sent}, received ${JSON.stringify(event).slice(0, 400)}`)
  }

  #place(record: DeviceRecord, number: number): void {
    const { device } = record
    if (hasBit(record.bits, number)) {
      this.#doubled++
      this.#note(`${device.identifier}: frame ${number} was received twice`)
      return
    }
    if (number < record.last) {
      this.#disordered++
      this.#note(`${device.identifier}: frame ${number} was received after frame ${record.last}`)
    }
    record.last = Math.max(record.last, number)
    record.bits = withBit(record.bits, number)
  }

  #note(detail: string): void {
    if (this.#details.length < detailsKeptMax) this.#details.push(detail)
  }
}

/** How many changes of a frame an event leaves out; undefined if the event contains other changes or another order. */
function changesLeftOut(changes: readonly Change[], event: ReceivedUpdate): number | undefined {
  let place = 0
  for (const { property, value } of changes) {
    const item = event.updates[place]
    if (item?.propId === property.propId && item.tag === 'value' && isDeepStrictEqual(jsonForm(value), item.value))
      place++
  }
  return place === event.updates.length ? changes.length - place : undefined
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
