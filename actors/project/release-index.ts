import { byPrecedence } from '#model/firmware-order'
import { releaseName, type StoredRelease } from '#model/release'

/** The releases by the keys with which updates look them up. Computed from the releases, independent of their order. */
export interface ReleaseIndex {
  /** The newest release for each index and hardware, by `hardwareKey`. */
  readonly newest: Map<string, StoredRelease>
  /** By version: its releases, sorted by name. */
  readonly versions: Map<string, readonly StoredRelease[]>
}

/** `hardware` null: a release for any hardware. */
export function hardwareKey(index: number, hardware: string | null): string {
  return `${index}/${hardware ?? ''}`
}

/** Updates the index after a release was added or deleted. `releases` is the map after this change. */
export function updateReleaseIndex(
  { newest, versions }: ReleaseIndex,
  releases: ReadonlyMap<string, StoredRelease>,
  before: StoredRelease | undefined,
  after: StoredRelease | null,
): void {
  const release = after ?? before
  if (!release) return
  const { firmware, index, hardware } = release
  const others = (versions.get(firmware) ?? []).filter((other) => releaseName(other) !== releaseName(release))
  const all = after ? [...others, after].sort(byName) : others
  if (all.length === 0) versions.delete(firmware)
  else versions.set(firmware, all)

  const key = hardwareKey(index, hardware)
  const first = newest.get(key)
  if (after) {
    if (!first || byAge(first, after) <= 0) newest.set(key, after)
  } else if (first === before) {
    const next = newestOf(releases.values(), key)
    if (next) newest.set(key, next)
    else newest.delete(key)
  }
}

function newestOf(releases: Iterable<StoredRelease>, key: string): StoredRelease | undefined {
  let first: StoredRelease | undefined
  for (const release of releases) {
    if (hardwareKey(release.index, release.hardware) !== key) continue
    if (!first || byAge(first, release) <= 0) first = release
  }
  return first
}

/** Newest last. Versions that differ only in their build metadata are sorted by creation time. */
function byAge(a: StoredRelease, b: StoredRelease): number {
  return byPrecedence(a.firmware, b.firmware) || a.createdAt - b.createdAt || byName(a, b)
}

function byName(a: StoredRelease, b: StoredRelease): number {
  return releaseName(a) < releaseName(b) ? -1 : 1
}
