import type { Reported } from '#model/entry'
import { MsgpackWriter } from '#store/msgpack-writer'

/**
 * Writes consecutive entries. Reports, of which there are millions, are written without the general encoder: it takes
 * five times as long, and needs an array for each. The bytes are the same (a property test compares the two).
 */
export class EntryWriter extends MsgpackWriter {
  /**
   * Writes a report in the form of `reported` in `entry-codec` if all its values are numbers, it begins no session, and
   * it changes no waiting alarm or throttle. Returns false, and writes nothing, for any other report.
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
