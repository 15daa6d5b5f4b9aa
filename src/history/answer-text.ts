import type { AggregateColumn, AggregateValue } from '#history/aggregation'
import type { AskedSeries } from '#history/history-query'
import type { Points, SeriesValue } from '#history/points'
import { statusKind } from '#history/series-table'
import type { TextPieces } from '#history/text-pieces'
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

export function addAggregate(text: TextPieces, value: AggregateValue, type: string): void {
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
