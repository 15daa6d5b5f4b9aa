import type { DeviceView, ServiceView } from '#client/device-view'
import type { DeviceStatus } from '#model/meta'

/** What `GET /meta` and its events say of a device. */
export interface DeviceMeta {
  readonly status: DeviceStatus
  readonly lastMessage: number
  readonly lastConnect: number
  readonly numConnects: number
  readonly meta: Readonly<Record<string, unknown>>
}

const noServices: ReadonlyMap<string, ServiceView> = new Map()
const noMeta: Readonly<Record<string, unknown>> = Object.freeze({})

/** A device that was made and has not come yet. */
export const neverCame: DeviceMeta = { status: 'offline', lastMessage: 0, lastConnect: 0, numConnects: 0, meta: noMeta }

/** A device as two lists show it, of which a caller may read one alone. Never changed. */
export class FleetDevice implements DeviceView {
  readonly deviceIdentifier: string
  readonly status: DeviceStatus | undefined
  readonly lastMessage: number
  readonly lastConnect: number
  readonly numConnects: number
  readonly meta: Readonly<Record<string, unknown>>
  readonly services: ReadonlyMap<string, ServiceView>
  /** Whether it is there by its services, even if it has none. */
  readonly isListed: boolean

  constructor(
    deviceIdentifier: string,
    services: ReadonlyMap<string, ServiceView> | undefined,
    meta: DeviceMeta | undefined,
  ) {
    this.deviceIdentifier = deviceIdentifier
    this.status = meta?.status
    this.lastMessage = meta?.lastMessage ?? 0
    this.lastConnect = meta?.lastConnect ?? 0
    this.numConnects = meta?.numConnects ?? 0
    this.meta = meta?.meta ?? noMeta
    this.services = services ?? noServices
    this.isListed = services !== undefined
  }

  get known(): DeviceMeta | undefined {
    return this.status === undefined ? undefined : (this as DeviceMeta)
  }
}
