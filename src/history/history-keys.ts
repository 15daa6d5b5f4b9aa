import { sortableHex } from '#store/key-space'

/**
 * The key space of the history's own database. Series, days (since 1970), sequences and times are written in
 * hexadecimal with a fixed length, so that keys sort by these numbers. Sequences give the order in which the data of a
 * series came in the stream.
 *
 * | key | value |
 * |---|---|
 * | `format` | the version of this key space |
 * | `device/<tenant>/<device>` | the address of a device, and its series with their ids |
 * | `run/<run>` | a run: points of many series, and the checkpoint after it |
 * | `page/<run>/<series>` | a page of a run; the key has the first series of the page |
 * | `block/<series>/<day>/<sequence>` | points of one series and day |
 * | `sum/<series>/<day>` | summaries of the hours of a day, or of the whole day, of the points in blocks |
 * | `dead/<series>` | a series of a deleted device, whose blocks and summaries are still to be deleted |
 * | `gap/<tenant>/<time>` | a span in which points may be missing |
 * | `cut` | the times before which points, hours and days were deleted to stay within the total size |
 * | `merged` | when everything was merged into blocks for the last time |
 * | `base` | the checkpoint up to which everything is merged into blocks or larger runs |
 */
export const historyKeys = {
  format: 'format',
  base: 'base',
  merged: 'merged',
  cut: 'cut',
  device: (tenant: string, device: string) => `device/${tenant}/${device}`,
  deviceOf(key: string): [tenant: string, device: string] {
    const tenantAt = 'device/'.length
    const deviceAt = key.indexOf('/', tenantAt)
    return [key.slice(tenantAt, deviceAt), key.slice(deviceAt + 1)]
  },
  run: (name: string) => `run/${name}`,
  page: (run: string, series: number) => `page/${run}/${sortableHex(series)}`,
  block: (series: number, day: number, sequence: number) =>
    `block/${sortableHex(series)}/${dayText(day)}/${sortableHex(sequence)}`,
  /** All blocks of a series from one day to another, both included. */
  blocks: (series: number, fromDay: number, toDay: number) => ({
    after: `block/${sortableHex(series)}/${dayText(fromDay)}/`,
    before: `block/${sortableHex(series)}/${dayText(toDay)}0`,
  }),
  dayOfBlock: (key: string) => Number.parseInt(key.split('/')[2] ?? '', 16),
  sum: (series: number, day: number) => `sum/${sortableHex(series)}/${dayText(day)}`,
  sums: (series: number, fromDay: number, toDay: number) => ({
    after: `sum/${sortableHex(series)}/${dayText(fromDay - 1)}`,
    before: `sum/${sortableHex(series)}/${dayText(toDay + 1)}`,
  }),
  dayOfSum: (key: string) => Number.parseInt(key.slice(-dayDigits), 16),
  dead: (series: number) => `dead/${sortableHex(series)}`,
  gap: (tenant: string, time: number) => `gap/${tenant}/${sortableHex(time)}`,
  numberText: sortableHex,
} as const

export const dayMs = 86_400_000
export const hourMs = 3_600_000

export function dayOf(time: number): number {
  return Math.floor(time / dayMs)
}

const dayDigits = 6

function dayText(day: number): string {
  return Math.max(0, day).toString(16).padStart(dayDigits, '0')
}
