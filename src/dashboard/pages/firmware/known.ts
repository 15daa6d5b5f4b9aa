import type { FirmwareView } from '#client/client'
import type { Called } from '#dashboard/parts/use-call'
import type { Paged } from '#dashboard/parts/use-pages'
import type { PinEntry, ReleaseEntry } from '#model/release'
import type { RolloutEntry } from '#model/rollout'

/** What a project's page has read, for each of its sections. */
export interface KnownProject {
  readonly project: string
  readonly releases: Called<readonly ReleaseEntry[]>
  /** Null: there is none. */
  readonly rollout: Called<RolloutEntry | null>
  readonly pins: Paged<PinEntry>
  /** Those that say they are of it. */
  readonly devices: readonly FirmwareView[]
  /** Whether that is known at all. */
  readonly isRead: boolean
}

/** The versions that there are releases of, the newest that came first; each once. */
export function versionsOf(releases: readonly ReleaseEntry[] = []): readonly string[] {
  const youngest = [...releases].sort((one, next) => next.createdAt - one.createdAt)
  return [...new Set(youngest.map(({ firmware }) => firmware))]
}

/** `1.5.0 for rev-b, index 1` */
export function releaseText({
  firmware,
  hardware,
  index,
}: Pick<ReleaseEntry, 'firmware' | 'hardware' | 'index'>): string {
  return `${firmware}${hardware === undefined ? '' : ` for ${hardware}`}${index > 0 ? `, index ${index}` : ''}`
}
