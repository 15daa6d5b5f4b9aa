import type { AggregateColumn, AggregateValue, Aggregation } from '#history/aggregation'
import { dayMs, dayOf } from '#history/history-keys'
import type { AskedSeries } from '#history/history-query'
import type { Points, SeriesValue } from '#history/points'
import { statusKind } from '#history/series-table'
import type { TextPieces } from '#history/text-pieces'
import type { AggregateName } from '#model/aggregate'
import { DeviceStatus } from '#model/meta'

/** An object as JSON without the closing brace, so that fields can be added. */
export function openJsonObject(fields: object): string {
  return JSON.stringify(fields).slice(0, -1)
}

export function headOf({ device, service, propId, name, type, unit }: AskedSeries, isNamed: boolean): string {
  return openJsonObject({
    ...(isNamed && { deviceIdentifier: device, serviceIdentifier: service }),
    propId,
    ...(name !== undefined && { name }),
    type: type.toUpperCase(),
    ...(unit !== undefined && { unit }),
  })
}

/** Whether the numbers of a series of this type are numbers in JSON too. */
export function isWrittenAsNumber(type: string): boolean {
  return type !== 'bool' && type !== statusKind.type
}

export function addValue(text: TextPieces, value: SeriesValue, type: string): void {
  if (typeof value === 'string') text.add(value)
  else if (type === statusKind.type) text.add(JSON.stringify(DeviceStatus.options[value]))
  else if (type === 'bool') text.add(value === 0 ? 'false' : 'true')
  else text.addNumber(value)
}

function addAggregate(text: TextPieces, value: AggregateValue, type: string): void {
  if (value === null) text.add('null')
  else if (typeof value === 'number') text.addNumber(value)
  else if (isOwnValue(value)) addValue(text, value.value, type)
  else text.add(JSON.stringify(value))
}

/** The values of an aggregate, with commas between them. */
export function addAggregates(text: TextPieces, column: AggregateColumn, type: string): void {
  if (column instanceof Float64Array) text.addNumbers(column)
  else text.addList(column.length, (index) => addAggregate(text, column[index] ?? null, type))
}

export function isOwnValue(value: object): value is { readonly value: SeriesValue } {
  return 'value' in value
}

export function addMark(text: TextPieces, marks: Points, index: number): void {
  text.add(`{"time":${marks.times[index]},${(marks.texts.get(index) ?? '{"tag":"error"}').slice(1)}`)
}

type ExportForm = 'csv' | 'ndjson'

/** Adds a row for each point. Contract 9. */
export function addPointRows(text: TextPieces, form: ExportForm, series: AskedSeries, points: Points): void {
  const rows = new Rows(text, form, series)
  for (let index = 0; index < points.count; index++) {
    rows.begin(points.times[index] as number)
    const value = points.valueAt(index)
    rows.add('value', typeof value === 'number' ? value : { value })
    rows.end()
  }
}

/** Adds a row for each bucket. */
export function addBucketRows(
  text: TextPieces,
  form: ExportForm,
  series: AskedSeries,
  names: readonly AggregateName[],
  { times, columns }: Aggregation,
): void {
  const rows = new Rows(text, form, series)
  for (const [index, time] of times.entries()) {
    rows.begin(time)
    for (const [column, name] of names.entries()) rows.add(name, columns[column]?.[index] ?? null)
    rows.end()
  }
}

class Rows {
  readonly #text: TextPieces
  readonly #isCsv: boolean
  readonly #type: string
  readonly #head: string
  #day = Number.NaN
  /** The date of the day, for times in ISO 8601. */
  #date = ''

  constructor(text: TextPieces, form: ExportForm, { device, service, propId, name, type }: AskedSeries) {
    this.#text = text
    this.#isCsv = form === 'csv'
    this.#type = type
    this.#head = this.#isCsv
      ? `${[device, service, String(propId), name ?? ''].map(quoted).join(',')},`
      : `${openJsonObject({ deviceIdentifier: device, serviceIdentifier: service, propId, name })},"time":"`
  }

  begin(time: number): void {
    this.#text.add(this.#head)
    const day = dayOf(time)
    if (day !== this.#day) {
      this.#day = day
      this.#date = new Date(day * dayMs).toISOString().slice(0, 'YYYY-MM-DDT'.length)
    }
    this.#text.add(this.#date)
    this.#addClock(time - day * dayMs)
    if (!this.#isCsv) this.#text.add('"')
  }

  #addClock(ms: number): void {
    const seconds = Math.floor(ms / 1_000)
    this.#text.addDigits(Math.floor(seconds / 3_600), 2)
    this.#text.add(':')
    this.#text.addDigits(Math.floor(seconds / 60) % 60, 2)
    this.#text.add(':')
    this.#text.addDigits(seconds % 60, 2)
    this.#text.add('.')
    this.#text.addDigits(ms % 1_000, 3)
    this.#text.add('Z')
  }

  add(name: string, value: AggregateValue): void {
    this.#text.add(this.#isCsv ? ',' : `,"${name}":`)
    if (this.#isCsv) addCsvField(this.#text, value, this.#type)
    else addAggregate(this.#text, value, this.#type)
  }

  end(): void {
    this.#text.add(this.#isCsv ? '\n' : '}\n')
  }
}

/** A text is written without its quotation marks. A missing value, and a sum that is too large, is an empty field. */
function addCsvField(text: TextPieces, value: AggregateValue, type: string): void {
  if (value === null || (typeof value === 'number' && !Number.isFinite(value))) return
  const json = typeof value === 'number' ? value : isOwnValue(value) ? value.value : JSON.stringify(value)
  if (typeof json !== 'string') addValue(text, json, type)
  else text.add(quoted(json.startsWith('"') ? (JSON.parse(json) as string) : json))
}

/** RFC 4180. */
function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
