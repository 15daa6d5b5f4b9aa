import type { LiveMap } from '#client/live-map'
import { MapList } from '#client/map-list'
import type { FirmwareView } from '#client/state'
import type { EventOf, StreamEvent } from '#model/event'
import type { FirmwareEntry, UpdateEntry } from '#model/firmware'

/** The firmware of devices and where updates stand, by `GET /updates`. §2.7, contract 6 */
export class UpdateList extends MapList<FirmwareView> {
  readonly route = 'GET /updates'
  override readonly query = { depth: 2 }
  readonly types = ['UPDATE_STATUS', 'DEVICE_DISCOVERY', 'DEVICE_DELETE'] as const

  constructor(updates: LiveMap<string, FirmwareView>) {
    super(updates, 1_000)
  }

  keyOf(event: StreamEvent): string {
    return (event as EventOf<'DEVICE_DELETE'>).deviceIdentifier
  }

  apply(event: StreamEvent): void {
    const device = this.keyOf(event)
    const before = this.map.get(device) ?? { deviceIdentifier: device, project: null, firmwares: [] }
    if (event.type === 'DEVICE_DELETE') this.gone(device)
    else if (event.type === 'UPDATE_STATUS') this.map.set(device, walked(before, event as EventOf<'UPDATE_STATUS'>))
    else this.map.set(device, discovered(before, event as EventOf<'DEVICE_DISCOVERY'>))
  }

  gone(device: string): void {
    this.map.delete(device)
  }

  protected keyIn(view: FirmwareView): string {
    return view.deviceIdentifier
  }
}

function walked(before: FirmwareView, event: EventOf<'UPDATE_STATUS'>): FirmwareView {
  const { index, status, firmware, progress, message, timestamp: at } = event
  const update: UpdateEntry = {
    status,
    ...(firmware !== undefined && { firmware }),
    ...(progress !== undefined && { progress }),
    ...(message !== undefined && { message }),
    at,
  }
  const firmwares = before.firmwares ?? []
  return { ...before, firmwares: firmwares.map((entry) => (entry.index === index ? { ...entry, update } : entry)) }
}

/** The numbers are those of contract 4: 1 is the project, 16·(index+1) a firmware, and 16·(index+1)+1 its hardware. */
function discovered(before: FirmwareView, { updates }: EventOf<'DEVICE_DISCOVERY'>): FirmwareView {
  const said = new Map(updates.map(({ propId, value }) => [propId, String(value)]))
  const firmwares: FirmwareEntry[] = []
  for (const [propId, firmware] of said) {
    if (propId < 16 || propId % 16 !== 0) continue
    const index = propId / 16 - 1
    const known = before.firmwares?.find((entry) => entry.index === index)
    const hardware = said.get(propId + 1)
    firmwares.push({
      firmware,
      ...(hardware !== undefined && { hardware }),
      index,
      // Said anew when it is read: an update that was offered may be what it has now.
      updateAvailable: known?.firmware === firmware && known.updateAvailable,
      ...(known?.update && { update: known.update }),
    })
  }
  return { ...before, project: said.get(1) ?? before.project, firmwares }
}
