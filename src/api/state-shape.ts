import { z } from 'zod'
import { DeviceIdentifier, ServiceIdentifier } from '#model/identifier'
import { Property } from '#model/property'
import { PropertyValue } from '#model/property-type'

/**
 * Properties of a service of a device: Property objects with `timestamp`, by decimal propId, or by `0x…` with
 * `hex=true`. With `raw=false`: only the values, by name. Contract 3.2.
 */
export const Properties = z.union([z.record(z.string(), Property), z.record(z.string(), PropertyValue)])

/** Grouped by device. `services` from depth 1, `properties` from depth 2. Contract 3.1. */
export const DeviceEntry = z.object({
  deviceIdentifier: DeviceIdentifier,
  services: z.array(z.object({ serviceIdentifier: ServiceIdentifier, properties: Properties.optional() })).optional(),
})

/** Grouped by service, §2.3. `devices` from depth 1, `properties` from depth 2. */
export const ServiceEntry = z.object({
  serviceIdentifier: ServiceIdentifier,
  devices: z.array(z.object({ deviceIdentifier: DeviceIdentifier, properties: Properties.optional() })).optional(),
})

export const exampleProperty = {
  tag: 'value',
  modifier: { isReadOnly: false, isActionable: false, isVolatile: false, isError: false, isArray: false },
  propId: 8192,
  type: 'FLOAT',
  value: 21.5,
  timestamp: 1_790_000_000_000,
}
export const exampleService = '7f1d3a52-0b6c-4f0e-9a55-2b8f5f1c9d01'
export const exampleDevice = 'SENSOR-1'
export const exampleAuthorship = {
  createdBy: 'crn#user:2Vb7qYx9Kd',
  createdAt: 1_790_000_000_000,
  updatedBy: 'crn#user:2Vb7qYx9Kd',
  updatedAt: 1_790_000_000_000,
}
