import type { JsonObject } from '#model/json-value'
import type { ServiceSchema } from '#model/service-schema'

/** What a tenant actor can be asked or told. */
export type TenantCommand = AdmitDevice | DeviceGone | PutSchema | DeleteSchema

export interface AdmitDevice {
  readonly type: 'admit_device'
  readonly device: string
  readonly meta: JsonObject
}

/** Told by a device that was removed. */
export interface DeviceGone {
  readonly type: 'device_gone'
}

export interface PutSchema {
  readonly type: 'put_schema'
  readonly service: string
  readonly schema: ServiceSchema
}

export interface DeleteSchema {
  readonly type: 'delete_schema'
  readonly service: string
}
