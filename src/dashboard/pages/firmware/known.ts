import { useEffect, useMemo, useState } from 'preact/hooks'
import type { FirmwareView } from '#client/client'
import { type GroupOption, idOf } from '#dashboard/binding/binding'
import { type Called, useCall } from '#dashboard/parts/use-call'
import type { Paged } from '#dashboard/parts/use-pages'
import { client, mayI } from '#dashboard/session'
import { state } from '#dashboard/state'
import { after } from '#dashboard/world'
import type { PinEntry, ReleaseEntry } from '#model/release'
import type { RolloutEntry } from '#model/rollout'
import type { Action } from '#model/scope'

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

/** Who may do what about firmware. Releases are for any device; rollouts for any, or for the members of groups. Contract 6. */

export function mayForAll(action: Action): boolean {
  return mayI('updates', action, { deviceIdentifier: '*' })
}

/** For the members of these groups, as far as one sees these, each of whom one has to reach; without groups, for all. */
export function mayForGroups(
  action: Action,
  groups: readonly string[] | undefined,
  known: readonly GroupOption[],
): boolean {
  if (mayForAll(action)) return true
  if (!groups) return false
  return groups.every((id) =>
    known
      .find(({ resourceIdentifier }) => idOf(resourceIdentifier) === id)
      ?.devices.every((deviceIdentifier) => mayI('updates', action, { deviceIdentifier })),
  )
}

/** All that is known of the firmware of devices, live. Contract 6. */
export interface FleetFirmware {
  /** By device identifier. */
  readonly devices: readonly FirmwareView[]
  /** Whether the first read is through: before that nothing can be said of what is not there. */
  readonly isRead: boolean
}

/** So often at most the whole fleet is gone through, however much happens. */
const everyMs = 1_000

/** Of one project, or of all. */
export function useFleetFirmware(project?: string): FleetFirmware {
  const { updates } = state()
  const [version, setVersion] = useState(0)
  useEffect(() => {
    let isWaiting: (() => void) | undefined
    const stop = updates.subscribe(() => {
      isWaiting ??= after(everyMs, () => {
        isWaiting = undefined
        setVersion((before) => before + 1)
      })
    })
    // What came between the rendering and this.
    setVersion((before) => before + 1)
    return () => {
      stop()
      isWaiting?.()
    }
  }, [updates])
  const devices = useMemo(() => {
    const wanted = [...updates.values()].filter((device) => project === undefined || device.project === project)
    return wanted.sort((one, next) => (one.deviceIdentifier < next.deviceIdentifier ? -1 : 1))
  }, [updates, project, version])
  // The map says how much it has, not whether that is all: of none at all the server is asked.
  const any = useCall(() => client.call('GET /updates', { query: { limit: 1 } }), [])
  return { devices, isRead: updates.size > 0 || any.value?.length === 0 }
}
