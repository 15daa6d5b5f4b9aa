import compare from 'semver/functions/compare.js'
import parse from 'semver/functions/parse.js'
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

export const PinEntry = z.object({ deviceIdentifier: DeviceIdentifier, firmware: FirmwareVersion })
export type PinEntry = z.infer<typeof PinEntry>

/**
 * The order of firmware versions. Semantic Versioning §11, which ignores build metadata.
 *
 * Versions with a number above 2⁵³ − 1 (in the core, or in the prerelease) have no order, since such numbers can't be
 * distinguished: `isNewer` is false for them in both directions. All versions are validated before, by
 * `FirmwareVersion`.
 */

/** Whether the first version is newer than the second. */
export function isNewer(firmware: string, than: string): boolean {
  return precedenceOf(firmware, than) > 0
}

/** For sorting: below zero if `a` comes first. Versions without an order come first, sorted by their text. */
export function byPrecedence(a: string, b: string): number {
  const [isOrderedA, isOrderedB] = [isOrdered(a), isOrdered(b)]
  if (isOrderedA && isOrderedB) return compare(a, b)
  if (isOrderedA || isOrderedB) return isOrderedA ? 1 : -1
  return a === b ? 0 : a < b ? -1 : 1
}

/**
 * Whether a device that is updated `from` one version to the `target` has reached it according to its report: the
 * reported version is the target, or has the same precedence and is not the `from` version.
 */
export function hasReachedVersion(reported: string, target: string, from: string): boolean {
  return reported === target || (reported !== from && precedenceOf(reported, target) === 0)
}

/**
 * Whether a device that had reached the `target` now reports the `from` version, or a version older than the `target`.
 */
export function hasFallenBack(reported: string, target: string, from: string): boolean {
  return !hasReachedVersion(reported, target, from) && (reported === from || isNewer(target, reported))
}

/** NaN, which is neither above nor below nor equal, if there is no order. */
function precedenceOf(a: string, b: string): number {
  return isOrdered(a) && isOrdered(b) ? compare(a, b) : Number.NaN
}

/** The parser rejects a version with a number that it can't hold, or keeps the number as text. */
function isOrdered(firmware: string): boolean {
  const version = parse(firmware)
  return version?.prerelease.every((part) => typeof part === 'number' || !/^[0-9]+$/.test(part)) ?? false
}
