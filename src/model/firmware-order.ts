import compare from 'semver/functions/compare.js'
import parse from 'semver/functions/parse.js'

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
