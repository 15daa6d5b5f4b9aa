import type { PropertyState, Reported } from '#model/entry'
import type { Shape } from '#model/shape'
import { MsgpackReader } from '#store/msgpack-reader'

/** A device in memory. `lastOffset`: the offset of the last entry that was applied to it. */
export interface KnownDevice {
  readonly id: string
  readonly lastOffset: number
}

export interface ReportSearch<Known extends KnownDevice> {
  /** A device whose name has this hash. In rare cases it is not the device of the report. */
  find(nameHash: number): Known | undefined
  shapeAt(place: number): Shape
}

export interface KnownReport<Known extends KnownDevice> {
  readonly known: Known
  /** Undefined if the report was already applied to the device. */
  readonly entry: Reported | undefined
}

/**
 * Reads consecutive entries. A starting server reads hundreds of thousands of reports, so reports are read without the
 * general decoder, which first makes a list of each.
 */
export class EntryReader extends MsgpackReader {
  /**
   * Reads a report in the form of `reported` in `entry-codec`. Returns undefined, and reads nothing, for any other
   * entry, and for the few reports with the fields `alarms` or `throttles`.
   */
  readReported(code: number, shapeAt: (place: number) => Shape): Reported | undefined {
    const before = this.place
    const length = this.#reportHead(code)
    if (length === 0) this.back(before)
    return length === 0 ? undefined : this.#afterName(length, this.text(), shapeAt)
  }

  /**
   * Like `readReported`, for a report whose device is found by the hash of its name. The report is skipped, and no
   * object is made, if it was already applied to the device.
   */
  readKnownReport<Known extends KnownDevice>(
    code: number,
    offset: number,
    search: ReportSearch<Known>,
  ): KnownReport<Known> | undefined {
    const before = this.place
    const length = this.#reportHead(code)
    const atName = this.place
    const known = length === 0 ? undefined : search.find(this.passForHash())
    this.back(atName)
    if (!known || !this.passText(known.id)) {
      this.back(before)
      return undefined
    }
    if (offset > known.lastOffset) return { known, entry: this.#afterName(length, known.id, search.shapeAt) }
    this.pass(length - 2)
    return { known, entry: undefined }
  }

  /**
   * The number of elements of a report; 0 for another entry, or for a report with more elements than this class reads.
   */
  #reportHead(code: number): number {
    const length = this.array()
    return (length === 8 || length === 9) && this.number() === code ? length : 0
  }

  #afterName(length: number, device: string, shapeAt: (place: number) => Shape): Reported {
    const flakeAddress = this.number()
    const shape = shapeAt(this.number())
    const at = this.number()
    const timestamp = this.passNull() ? at : this.number()
    const seq = this.number()
    const items = this.#items()
    const kind = 'reported'
    if (length === 8) return { kind, device, flakeAddress, shape, at, timestamp, seq, items }
    return { kind, device, flakeAddress, shape, at, timestamp, seq, items, session: this.text() }
  }

  #items(): PropertyState[] {
    const length = this.array()
    const items = new Array<PropertyState>(length)
    for (let index = 0; index < length; index++) items[index] = this.any() as PropertyState
    return items
  }
}
