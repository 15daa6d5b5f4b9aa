import type { Reported } from '#model/entry'
import { MsgpackWriter } from '#store/msgpack-writer'

/**
 * Writes entries one behind the other. The reports there are millions of are written by hand: the general encoder takes
 * five times as long, and needs an array built for each. What is written is the same to the byte (a property test
 * compares the two).
 */
export class EntryWriter extends MsgpackWriter {
  /**
   * A report in the form of the table in `entry-codec`, if its values are numbers, it begins no session, no alarm waits
   * and no throttle lets anything through by it. False, and nothing is written, for any other.
   */
  writeReported(code: number, place: number, entry: Reported): boolean {
    const { items } = entry
    if (entry.session !== undefined || entry.alarms !== undefined || entry.throttles !== undefined) return false
    const before = this.length
    this.array(8)
    this.number(code)
    this.text(entry.device)
    this.number(entry.flakeAddress)
    this.number(place)
    this.number(entry.at)
    if (entry.timestamp === entry.at) this.null()
    else this.number(entry.timestamp)
    this.number(entry.seq)
    this.array(items.length)
    for (let index = 0; index < items.length; index++) {
      const item = items[index]
      if (typeof item !== 'number') {
        this.cut(before)
        return false
      }
      this.number(item)
    }
    return true
  }
}
