import type { DeviceStatus } from '#model/meta'
import type { Modifier } from '#model/property'
import type { PropertyValue } from '#model/property-type'

/** A property as it stands. §2.2, contract 3.8. */
export interface PropertyView {
  readonly propId: number
  /** Upper case: `UINT8`, `FLOAT-ARRAY`. */
  readonly type: string
  readonly tag: 'value' | 'error'
  readonly modifier: Modifier
  /** Absent in error, and before the first report. */
  readonly value?: PropertyValue
  readonly error?: string
  /** Unix milliseconds; absent before the first report. */
  readonly timestamp?: number
}

/** The properties of a service of a device, by propId. Each is made when it is asked for: compare values, not these. */
export interface ServiceView extends ReadonlyMap<number, PropertyView> {
  /** The value alone, without making a PropertyView: for long lists. */
  valueAt(propId: number): PropertyValue | undefined
}

/** A device as it stood: another object after each change, the same one while nothing changes. */
export interface DeviceView {
  readonly deviceIdentifier: string
  /** Undefined where the caller may not read `meta`. */
  readonly status: DeviceStatus | undefined
  /** Unix milliseconds, 0 for never; as of the last change of `status`, for nothing else tells of it. */
  readonly lastMessage: number
  readonly lastConnect: number
  readonly numConnects: number
  readonly meta: Readonly<Record<string, unknown>>
  /** By service identifier. */
  readonly services: ReadonlyMap<string, ServiceView>
}
