import type { Aggregation } from '#history/aggregation'
import { aggregateText, openedJson, type TextPieces, valueAt, valueText } from '#history/answer-text'
import type { AskedSeries } from '#history/history-query'
import type { Points } from '#history/points'
import type { AggregateName } from '#model/aggregate'

type ExportForm = 'csv' | 'ndjson'

/** Adds a row for each point. Contract 9. */
export function addPointRows(text: TextPieces, form: ExportForm, series: AskedSeries, points: Points): void {
  const head = headOf(form, series)
  const isoOf = isoTimes()
  for (let index = 0; index < points.count; index++) {
    const time = isoOf(points.times[index] as number)
    const value = valueText(valueAt(points, index), series.type)
    text.add(form === 'csv' ? `${head}${time},${csvField(value)}\n` : `${head}"time":"${time}","value":${value}}\n`)
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
  const head = headOf(form, series)
  const isoOf = isoTimes()
  for (const [index, at] of times.entries()) {
    const time = isoOf(at)
    const texts = names.map((_, column) => aggregateText(columns[column]?.[index] ?? null, series.type))
    if (form === 'csv') text.add(`${head}${time},${texts.map(csvField).join(',')}\n`)
    else text.add(`${head}"time":"${time}",${names.map((name, place) => `"${name}":${texts[place]}`).join(',')}}\n`)
  }
}

function headOf(form: ExportForm, { device, service, propId, name }: AskedSeries): string {
  if (form === 'csv') return `${[device, service, String(propId), name ?? ''].map(quoted).join(',')},`
  return `${openedJson({ deviceIdentifier: device, serviceIdentifier: service, propId, name })},`
}

/** A value given as JSON. A text is written without its quotation marks; null is an empty field. */
function csvField(json: string): string {
  if (json === 'null') return ''
  const first = json.charCodeAt(0)
  return first === 0x22 ? quoted(JSON.parse(json) as string) : first === 0x5b || first === 0x7b ? quoted(json) : json
}

/** RFC 4180. */
function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Times in ISO 8601. Most points of a series follow in the same second or the next, so the text of a second is kept. */
function isoTimes(): (time: number) => string {
  let second = Number.NaN
  let prefix = ''
  return (time) => {
    const wholeSecond = Math.floor(time / 1_000)
    if (wholeSecond !== second) {
      second = wholeSecond
      prefix = new Date(wholeSecond * 1_000).toISOString().slice(0, -4)
    }
    return `${prefix}${String(time - wholeSecond * 1_000).padStart(3, '0')}Z`
  }
}
