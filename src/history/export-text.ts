import type { AggregateValue, Aggregation } from '#history/aggregation'
import { addAggregate, addValue, isOwnValue, openJsonObject } from '#history/answer-text'
import { dayMs, dayOf } from '#history/history-keys'
import type { AskedSeries } from '#history/history-query'
import type { Points } from '#history/points'
import type { TextPieces } from '#history/text-pieces'
import type { AggregateName } from '#model/aggregate'

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
