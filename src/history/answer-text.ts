import type { AggregateValue } from '#history/aggregation'
import type { AskedSeries } from '#history/history-query'
import type { Points } from '#history/points'
import { statusKind } from '#history/series-table'
import type { SeriesValue } from '#history/summary'
import { DeviceStatus } from '#model/meta'

const pieceCharacters = 256 * 1024

/** A long text as UTF-8, in pieces that can be given to another thread without a copy. */
export class TextPieces {
  readonly #encoder = new TextEncoder()
  #text = ''
  readonly #pieces: Uint8Array[] = []

  add(text: string): void {
    this.#text += text
    if (this.#text.length >= pieceCharacters) this.#end()
  }

  /** Adds a list, without brackets. */
  addList(count: number, itemAt: (index: number) => string | number): void {
    for (let index = 0; index < count; index++) {
      if (index > 0) this.#text += ','
      this.add(String(itemAt(index)))
    }
  }

  take(): Uint8Array[] {
    if (this.#text !== '') this.#end()
    return this.#pieces
  }

  #end(): void {
    this.#pieces.push(this.#encoder.encode(this.#text))
    this.#text = ''
  }
}

/** An object as JSON, to which fields can be added. */
export function openedJson(fields: object): string {
  return JSON.stringify(fields).slice(0, -1)
}

export function headOf({ device, service, propId, name, type, unit }: AskedSeries, isNamed: boolean): string {
  return openedJson({
    ...(isNamed && { deviceIdentifier: device, serviceIdentifier: service }),
    propId,
    ...(name !== undefined && { name }),
    type: type.toUpperCase(),
    ...(unit !== undefined && { unit }),
  })
}

export function valueAt(points: Points, index: number): SeriesValue {
  return points.texts.get(index) ?? (points.values[index] as number)
}

export function valueText(value: SeriesValue, type: string): string {
  if (typeof value === 'string') return value
  if (type === statusKind.type) return JSON.stringify(DeviceStatus.options[value])
  return type === 'bool' ? String(value !== 0) : numberText(value)
}

/** A sum may be too large for a number. */
export function numberText(value: number): string {
  return Number.isFinite(value) ? String(value) : 'null'
}

export function aggregateText(value: AggregateValue, type: string): string {
  if (value === null) return 'null'
  if (typeof value === 'number') return numberText(value)
  return isOwnValue(value) ? valueText(value.value, type) : JSON.stringify(value)
}

export function isOwnValue(value: object): value is { readonly value: SeriesValue } {
  return 'value' in value
}

export function markText(marks: Points, index: number): string {
  return `{"time":${marks.times[index]},${(marks.texts.get(index) ?? '{"tag":"error"}').slice(1)}`
}
