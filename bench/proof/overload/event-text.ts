import { lastValue, naturalAt } from '#bench/load/dashboards'
import { numberOf } from '#bench/load/update-template'

/** As much of an event as names its device. */
const headBytes = 220
const updatedStart = '{"type":"OBJECT_UPDATED"'
const offsetName = '"offset":'
const deviceName = '"deviceIdentifier":"'

/** What a counted device said, as an event tells it. */
export interface Reported {
  readonly device: number
  readonly number: number
}

/** The beginning of a message, as text. */
export function headOf(bytes: Buffer, start: number, end: number): string {
  return bytes.toString('latin1', start, Math.min(end, start + headBytes))
}

/** Undefined for what is no event, such as STREAM in other places than the first. */
export function offsetOf(bytes: Buffer, start: number, head: string): number | undefined {
  const at = head.indexOf(offsetName)
  return at < 0 ? undefined : naturalAt(bytes, start + at + offsetName.length)
}

/** Undefined when it is of something else. `prefix`: of the fleet's devices. */
export function reportedBy(prefix: string, bytes: Buffer, end: number, head: string): Reported | undefined {
  if (!head.startsWith(updatedStart)) return undefined
  const at = head.indexOf(deviceName) + deviceName.length
  if (!head.startsWith(`${prefix}-`, at)) return undefined
  const from = at + prefix.length + 1
  return { device: Number(head.slice(from, head.indexOf('"', from))), number: numberOf(lastValue(bytes, end)) }
}
