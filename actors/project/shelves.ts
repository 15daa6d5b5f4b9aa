import { byPrecedence } from '#model/firmware-order'
import { releaseName, type StoredRelease } from '#model/release'

/**
 * The releases of a project as they are looked for when a device asks. It follows from them, in whatever order they came.
 */
export interface Shelves {
  /** Of those for one index and one hardware the newest, by `shelfName`. */
  readonly newest: Map<string, StoredRelease>
  /** All of one version, by name. */
  readonly versions: Map<string, readonly StoredRelease[]>
}

/** `hardware` null: what is for any. */
export function shelfName(index: number, hardware: string | null): string {
  return `${index}/${hardware ?? ''}`
}

/** One release came, or went: `releases` is what there is now. */
export function putOnShelves(
  { newest, versions }: Shelves,
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

  const shelf = shelfName(index, hardware)
  const first = newest.get(shelf)
  if (after) {
    if (!first || byAge(first, after) <= 0) newest.set(shelf, after)
  } else if (first === before) {
    const next = newestOf(releases.values(), shelf)
    if (next) newest.set(shelf, next)
    else newest.delete(shelf)
  }
}

function newestOf(releases: Iterable<StoredRelease>, shelf: string): StoredRelease | undefined {
  let first: StoredRelease | undefined
  for (const release of releases) {
    if (shelfName(release.index, release.hardware) !== shelf) continue
    if (!first || byAge(first, release) <= 0) first = release
  }
  return first
}

/** The newest last. Versions that differ by their build alone come in the order in which they were put. */
function byAge(a: StoredRelease, b: StoredRelease): number {
  return byPrecedence(a.firmware, b.firmware) || a.createdAt - b.createdAt || byName(a, b)
}

function byName(a: StoredRelease, b: StoredRelease): number {
  return releaseName(a) < releaseName(b) ? -1 : 1
}
