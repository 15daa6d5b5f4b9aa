import { z } from 'zod'
import { FirmwareIndex } from '#model/firmware'
import { DeviceIdentifier, FirmwareVersion, Sha256, ShortName, Timestamp } from '#model/identifier'

/** Releases of the embedded update server, and pins that hold devices at a version. Contract 6. */

/** Maximum number of projects of a tenant. */
export const projectsMax = 1_000

/** Maximum number of releases of a project: years of weekly releases. */
export const releasesMax = 1_000

/** Maximum number of pins of a project: all are in memory. */
export const pinsMax = 100_000

/** The unique key of a release in its project. `hardware` null: for any hardware. */
export interface ReleaseKey {
  readonly firmware: string
  readonly hardware: string | null
  readonly index: number
}

/**
 * A stored release. Its image is found by `sha256`; `size` in bytes, `createdAt` in Unix ms; `createdBy` is a resource
 * name.
 */
export interface StoredRelease extends ReleaseKey {
  readonly sha256: string
  readonly size: number
  readonly createdAt: number
  readonly createdBy: string
}

/**
 * The unique name of a release in its project, `<index>/<hardware>/<firmware>`: no part of it contains a slash, and the
 * middle part is empty if the release is for any hardware.
 */
export function releaseName({ firmware, hardware, index }: ReleaseKey): string {
  return `${index}/${hardware ?? ''}/${firmware}`
}

/** A release as the API returns it. */
export const ReleaseEntry = z.object({
  firmware: FirmwareVersion,
  hardware: ShortName.optional(),
  index: FirmwareIndex,
  sha256: Sha256,
  size: z.int().min(1),
  createdAt: Timestamp,
  createdBy: z.string(),
})
export type ReleaseEntry = Readonly<z.infer<typeof ReleaseEntry>>

export function releaseEntryOf({ hardware, ...shown }: StoredRelease): ReleaseEntry {
  return { ...shown, ...(hardware !== null && { hardware }) }
}

/** Holds a device at this version. */
export const PinBody = z.strictObject({ firmware: FirmwareVersion })
export type PinBody = Readonly<z.infer<typeof PinBody>>

/** A pin in a list. */
export const PinEntry = z.object({ deviceIdentifier: DeviceIdentifier, firmware: FirmwareVersion })
export type PinEntry = Readonly<z.infer<typeof PinEntry>>
