import type { PropertyState, Reported } from '#model/entry'
import type { Shape } from '#model/shape'
import { MsgpackReader } from '#store/msgpack-reader'

/** What of a device is in memory: the last entry that it holds. */
export interface KnownDevice {
  readonly id: string
  readonly lastOffset: number
}

export interface NewsSearch<Known extends KnownDevice> {
  /** Whoever's name has this hash, or whose name's hash is the same by chance. */
  find(nameHash: number): Known | undefined
  shapeAt(place: number): Shape
}

/** Without an entry: an old one. */
export interface News<Known extends KnownDevice> {
  readonly known: Known
  readonly entry: Reported | undefined
}

/**
 * Reads entries one behind the other. Reports are read by hand, as they are written: a start goes through hundreds of
 * thousands of them, and the general decoder makes a list of each first.
 */
export class EntryReader extends MsgpackReader {
  /**
   * A report in the form of the table in `entry-codec`. Undefined, and nothing is passed, for any other entry, and for the
   * few reports by which alarms wait or throttles let something through: they have a field more, or two.
   */
  readReported(code: number, shapeAt: (place: number) => Shape): Reported | undefined {
    const before = this.place
    const length = this.#reportHead(code)
    if (length === 0) this.back(before)
    return length === 0 ? undefined : this.#behindName(length, this.text(), shapeAt)
  }

  /**
   * The same of a report whose device is known, that is, found by the hash of its name; it is passed, and nothing is made
   * of it, where what is known holds it already.
   */
  readNews<Known extends KnownDevice>(
    code: number,
    offset: number,
    search: NewsSearch<Known>,
  ): News<Known> | undefined {
    const before = this.place
    const length = this.#reportHead(code)
    const atName = this.place
    const known = length === 0 ? undefined : search.find(this.passForHash())
    this.back(atName)
    if (!known || !this.passText(known.id)) {
      this.back(before)
      return undefined
    }
    if (offset > known.lastOffset) return { known, entry: this.#behindName(length, known.id, search.shapeAt) }
    this.pass(length - 2)
    return { known, entry: undefined }
  }

  /** How many fields a report has; 0 for another entry, or for more fields than are read here. */
  #reportHead(code: number): number {
    const length = this.array()
    return (length === 8 || length === 9) && this.number() === code ? length : 0
  }

  #behindName(length: number, device: string, shapeAt: (place: number) => Shape): Reported {
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
