import { type Entry, isPropertyError, type PropertyState } from '#model/entry'
import { DeviceStatus } from '#model/meta'

/** Values, or JSON texts, by their time. */
type ModelSeries = Map<number, number | string>

type Removal = Extract<Entry, { kind: 'declared' | 'undeclared' }>

/** The history of one tenant as plain maps, to compare with the stored history. */
export class HistoryModel {
  readonly #series = new Map<string, ModelSeries>()

  /** Adds a point that is not in the stream. */
  set(name: string, time: number, value: number | string): void {
    this.#of(name).set(time, value)
  }

  apply(entry: Entry): void {
    switch (entry.kind) {
      case 'reported':
      case 'declared': {
        if (entry.kind === 'declared') this.#removed(entry.device, entry.shape.serviceIdentifier, entry)
        for (const { propId, type } of entry.shape.properties) {
          this.#of(nameOf(entry.device, entry.shape.serviceIdentifier, propId, type.name))
        }
        const time = entry.kind === 'reported' ? entry.timestamp : entry.at
        for (let place = 0; place < entry.items.length; place += 2) {
          const property = entry.shape.properties[entry.items[place] as number]
          if (!property) throw new Error('no such property')
          const name = nameOf(entry.device, entry.shape.serviceIdentifier, property.propId, property.type.name)
          this.#add(name, time, entry.items[place + 1] as PropertyState)
        }
        return
      }
      case 'undeclared':
        this.#removed(entry.device, entry.service, entry)
        return
      case 'status_changed':
        this.#of(nameOf(entry.device, '', 0, 'status')).set(entry.at, DeviceStatus.options.indexOf(entry.status))
        return
      case 'device_removed':
        for (const name of this.#series.keys()) if (name.startsWith(`${entry.device} `)) this.#series.delete(name)
        return
      default:
    }
  }

  /** The points of each series, sorted by time; without empty series. */
  get points(): Record<string, [number, number | string][]> {
    const sorted = [...this.#series].map(([name, points]) => [name, [...points].sort(([a], [b]) => a - b)] as const)
    return Object.fromEntries(sorted.filter(([, points]) => points.length > 0))
  }

  #removed(device: string, service: string, { removed, at }: Removal): void {
    for (const { propId, type } of removed) {
      const name = nameOf(device, service, propId, type)
      if (this.#series.has(name)) this.#of(`${name} marks`).set(at, '{"tag":"removed"}')
    }
  }

  #add(name: string, time: number, state: PropertyState): void {
    if (state === null) return
    if (isPropertyError(state)) this.#of(`${name} marks`).set(time, JSON.stringify({ tag: 'error', ...state }))
    else this.#of(name).set(time, typeof state === 'number' ? state : textOf(state))
  }

  #of(name: string): ModelSeries {
    let series = this.#series.get(name)
    if (!series) {
      series = new Map()
      this.#series.set(name, series)
    }
    return series
  }
}

function textOf(state: Exclude<PropertyState, null | number>): number | string {
  if (typeof state === 'boolean') return state ? 1 : 0
  return JSON.stringify(state)
}

export function nameOf(device: string, service: string, propId: number, type: string): string {
  return `${device} ${service} ${propId} ${type}`
}
