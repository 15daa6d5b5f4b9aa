import type { Wanted } from '#client/device-list'
import type { Fleet } from '#client/fleet'
import { type DeviceMeta, neverCame } from '#client/fleet-device'
import type { ListKind } from '#client/list-kind'
import type { Item } from '#client/routes'
import type { EventOf, StreamEvent } from '#model/event'

/** Whether devices are there, and what people noted about them, by `GET /meta`. */
export class MetaList implements ListKind {
  readonly route = 'GET /meta'
  readonly query: Readonly<Record<string, unknown>>
  readonly firstPage = 500
  readonly weightPerPage = 2_000
  readonly types = ['META_STATUS_CHANGE', 'META_SET', 'META_DELETE', 'DEVICE_ADD', 'DEVICE_DELETE'] as const
  readonly #fleet: Fleet
  readonly #wanted: Wanted

  /** @param named devices that the server is asked for by name */
  constructor(fleet: Fleet, wanted: Wanted, named: readonly string[] | undefined) {
    this.#fleet = fleet
    this.#wanted = wanted
    this.query = { depth: 1, deviceIdentifier: named }
  }

  keyOf(event: StreamEvent): string {
    return (event as EventOf<'META_SET'>).deviceIdentifier
  }

  take(entries: readonly unknown[]) {
    const keys: string[] = []
    for (const { deviceIdentifier: device, ...record } of entries as readonly Item<'GET /meta'>[]) {
      if (this.#wanted.devices?.has(device) === false) continue
      this.#fleet.setMeta(device, { ...neverCame, ...(record as DeviceMeta) })
      keys.push(device)
    }
    return { keys, weight: entries.length }
  }

  keepOnly(isThere: (device: string) => boolean): void {
    for (const device of [...this.#fleet.devices.keys()]) {
      if (!isThere(device)) this.#fleet.setMeta(device, undefined)
    }
  }

  apply(event: StreamEvent): void {
    const device = this.keyOf(event)
    if (this.#wanted.devices?.has(device) === false) return
    const before = this.#fleet.metaOf(device) ?? neverCame
    this.#fleet.setMeta(device, metaAfter(before, event))
  }

  gone(device: string): void {
    this.#fleet.setMeta(device, undefined)
  }

  complete(isComplete: boolean): void {
    this.#fleet.complete('meta', isComplete)
  }
}

/** Undefined: the device is gone. */
function metaAfter(before: DeviceMeta, event: StreamEvent): DeviceMeta | undefined {
  if (event.type === 'DEVICE_DELETE') return undefined
  if (event.type === 'META_STATUS_CHANGE') {
    const { status, lastMessage, lastConnect, numConnects } = event as EventOf<'META_STATUS_CHANGE'>
    return { status, lastMessage, lastConnect, numConnects, meta: before.meta }
  }
  if (event.type === 'META_SET') return { ...kept(before), meta: (event as EventOf<'META_SET'>).meta }
  if (event.type !== 'META_DELETE') return before
  const { key } = event as EventOf<'META_DELETE'>
  return { ...kept(before), meta: Object.fromEntries(Object.entries(before.meta).filter(([name]) => name !== key)) }
}

function kept({ status, lastMessage, lastConnect, numConnects }: DeviceMeta): Omit<DeviceMeta, 'meta'> {
  return { status, lastMessage, lastConnect, numConnects }
}
