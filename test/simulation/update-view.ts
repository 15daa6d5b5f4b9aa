import type { Grant } from '#model/scope'
import { ListView, type ViewedEvent } from '#test/simulation/list-view'
import { mayRead } from '#test/simulation/reference-filter'
import type { ReadUpdates } from '#test/simulation/reference-updates'

export class UpdateView extends ListView<ReadUpdates> {
  readonly list = 'listUpdates'
  readonly resource = 'updates'
  override readonly query = { depth: 2 }
  /** By device and index. */
  #rows = new Map<string, string>()

  /** A client without read on a device gets no event of its deletion, and cannot distinguish it from its successor. */
  protected differences(rows: readonly ReadUpdates[], grants: readonly Grant[]): readonly string[] {
    const known = rows.filter(({ deviceIdentifier }) => mayRead(grants, 'device', deviceIdentifier))
    return [...statusesOf(known)]
      .filter(([place, status]) => this.#rows.get(place) !== status)
      .map(([place, status]) => `update of ${place}: here ${this.#rows.get(place)}, there ${status}`)
  }

  protected concerns(type: string): boolean {
    return type === 'UPDATE_STATUS' || type === 'DEVICE_DELETE'
  }

  protected take(rows: readonly ReadUpdates[]): void {
    this.#rows = statusesOf(rows)
  }

  protected apply(event: ViewedEvent): void {
    const { type, deviceIdentifier: device, index, timestamp: at, status, firmware, progress, message } = event
    if (type === 'UPDATE_STATUS')
      this.#rows.set(`${device} ${index}`, textOf({ at, status, firmware, progress, message }))
    else {
      for (const place of this.#rows.keys()) if (place.startsWith(`${device} `)) this.#rows.delete(place)
    }
  }
}

function statusesOf(rows: readonly ReadUpdates[]): Map<string, string> {
  const statuses = new Map<string, string>()
  for (const { deviceIdentifier: device, firmwares } of rows)
    for (const { index, update } of firmwares) if (update) statuses.set(`${device} ${index}`, textOf(update))
  return statuses
}

function textOf({ at, status, firmware, progress, message }: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ at, status, firmware, progress, message })
}
