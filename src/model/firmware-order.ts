import compare from 'semver/functions/compare.js'
import parse from 'semver/functions/parse.js'

/**
 * Which of two firmware versions comes first. Semantic Versioning §11; build metadata says nothing about it.
 *
 * Versions with a number above 2⁵³ − 1 (in the core, or as a part of the prerelease) have no order, since such numbers
 * cannot be told apart: they are newer than nothing, and nothing is newer than they are. All versions are checked before,
 * by `FirmwareVersion`.
 */

/** Whether a version comes behind another one. */
export function isNewer(firmware: string, than: string): boolean {
  return precedenceOf(firmware, than) > 0
}

/** For sorting: below zero when `a` comes first. What has no order stands in front, by its text. */
export function byPrecedence(a: string, b: string): number {
  const [isOrderedA, isOrderedB] = [isOrdered(a), isOrdered(b)]
  if (isOrderedA && isOrderedB) return compare(a, b)
  if (isOrderedA || isOrderedB) return isOrderedA ? 1 : -1
  return a === b ? 0 : a < b ? -1 : 1
}

/**
 * Whether a device that was to be updated `from` one version to the `target` is there by what it reports: that very
 * version, or one of the same precedence that is not the one it came from.
 */
export function hasArrived(reported: string, target: string, from: string): boolean {
  return reported === target || (reported !== from && precedenceOf(reported, target) === 0)
}

/** Whether a device that had arrived at the `target` reports what it came `from`, or what is older than the `target`. */
export function hasFallenBack(reported: string, target: string, from: string): boolean {
  return !hasArrived(reported, target, from) && (reported === from || isNewer(target, reported))
}

/** NaN, which is neither above nor below nor equal, where there is no order. */
function precedenceOf(a: string, b: string): number {
  return isOrdered(a) && isOrdered(b) ? compare(a, b) : Number.NaN
}

/** Of a number that it cannot hold the parser says that it is no version, or leaves it a text. */
function isOrdered(firmware: string): boolean {
  const version = parse(firmware)
  return version?.prerelease.every((part) => typeof part === 'number' || !/^[0-9]+$/.test(part)) ?? false
}
