import { hourMs } from '#history/history-keys'
import { nameOf } from '#test/history/history-model'

export const aggregates = ['count', 'sum', 'min', 'max', 'first', 'last'] as const

/** Points by the name of their series. */
export type Points = Record<string, [number, number | string][]>

/** Series as answers of history show them. */
export interface ShownSeries {
  readonly deviceIdentifier?: string
  readonly serviceIdentifier?: string
  readonly propId: number
  readonly type: string
  readonly time: readonly number[]
  readonly value: readonly unknown[]
  readonly marks: readonly { readonly time: number }[]
  readonly [aggregate: string]: unknown
}

export function addShown(found: Points, device: string, service: string, series: ShownSeries): void {
  const name = nameOf(device, service, series.propId, series.type.toLowerCase())
  const points = series.time.map((time, index): [number, number | string] => [time, storedOf(series.value[index])])
  const marks = series.marks.map(({ time, ...mark }): [number, string] => [time, JSON.stringify(mark)])
  if (points.length > 0) found[name] = points
  if (marks.length > 0) found[`${name} marks`] = marks
}

/** The expected rows of an export, sorted. */
export function rowsIn(points: Points): readonly string[] {
  return Object.entries(points)
    .filter(([name]) => !name.endsWith(' marks'))
    .flatMap(([name, list]) => {
      const [device = '', service = '', propId = ''] = name.split(' ')
      return list.map(([time, value]) => rowOf(device, service, Number(propId), time, value))
    })
    .sort()
}

export function rowOf(...row: readonly [string, string, number, number, number | string]): string {
  return JSON.stringify(row)
}

export function storedOf(value: unknown): number | string {
  if (typeof value === 'boolean') return value ? 1 : 0
  return typeof value === 'number' ? value : JSON.stringify(value)
}

export function rowsOf(series: ShownSeries): readonly unknown[] {
  const columns = series as unknown as Readonly<Record<string, readonly number[]>>
  return series.time.map((time, index) => [time, ...aggregates.map((name) => rounded(columns[name]?.[index]))])
}

export function hoursOf(points: readonly (readonly [number, number | string])[]): readonly unknown[] {
  const hours = new Set(points.map(([time]) => hourOf(time)))
  return [...hours].map((hour) => {
    const values = points.filter(([time]) => hourOf(time) === hour).map(([, value]) => value as number)
    const sum = values.reduce((total, each) => total + each, 0)
    const found = [values.length, sum, Math.min(...values), Math.max(...values), values[0], values.at(-1)]
    return [hour, ...found.map(rounded)]
  })
}

export function hourOf(time: number): number {
  return Math.floor(time / hourMs) * hourMs
}

function rounded(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.toFixed(6))
}
