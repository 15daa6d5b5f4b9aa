import { useEffect, useMemo, useState } from 'preact/hooks'
import type { FirmwareView } from '#client/client'
import { type GroupOption, idOf } from '#dashboard/binding/binding'
import { type CallState, useCall } from '#dashboard/components/use-call'
import type { PagedList } from '#dashboard/components/use-pages'
import { client, mayUser } from '#dashboard/session'
import { liveState } from '#dashboard/state'
import { runAfter } from '#dashboard/timers'
import type { PinEntry, ReleaseEntry } from '#model/release'
import type { RolloutEntry } from '#model/rollout'
import type { Action } from '#model/scope'

/** The data of a project's page, for its sections. */
export interface ProjectData {
  readonly project: string
  readonly releases: CallState<readonly ReleaseEntry[]>
  /** Null: no rollout. */
  readonly rollout: CallState<RolloutEntry | null>
  readonly pins: PagedList<PinEntry>
  /** The devices that report this project. */
  readonly devices: readonly FirmwareView[]
  readonly isComplete: boolean
}

/** The versions with a release, the newest release first; each once. */
export function versionsOf(releases: readonly ReleaseEntry[] = []): readonly string[] {
  const newestFirst = [...releases].sort((one, next) => next.createdAt - one.createdAt)
  return [...new Set(newestFirst.map(({ firmware }) => firmware))]
}

/** `1.5.0 for rev-b, index 1` */
export function releaseText({
  firmware,
  hardware,
  index,
}: Pick<ReleaseEntry, 'firmware' | 'hardware' | 'index'>): string {
  return `${firmware}${hardware === undefined ? '' : ` for ${hardware}`}${index > 0 ? `, index ${index}` : ''}`
}

/**
 * Permissions on firmware. Releases need permission on all devices; rollouts on all, or on the members of groups.
 * Contract 6.
 */

export function mayForAll(action: Action): boolean {
  return mayUser('updates', action, { deviceIdentifier: '*' })
}

/** Whether the action is permitted on all visible members of these groups; without groups, on all devices. */
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
      ?.devices.every((deviceIdentifier) => mayUser('updates', action, { deviceIdentifier })),
  )
}

/** The live firmware status of devices. Contract 6. */
export interface FleetFirmware {
  /** By device identifier. */
  readonly devices: readonly FirmwareView[]
  /** Whether all entries were read. */
  readonly isComplete: boolean
}

/** The whole fleet is processed at most this often. */
const refreshMs = 1_000

/** The devices of one project, or all. */
export function useFleetFirmware(project?: string): FleetFirmware {
  const { updates } = liveState()
  const [version, setVersion] = useState(0)
  useEffect(() => {
    let cancel: (() => void) | undefined
    const stop = updates.subscribe(() => {
      cancel ??= runAfter(refreshMs, () => {
        cancel = undefined
        setVersion((before) => before + 1)
      })
    })
    // Includes changes between the rendering and this effect.
    setVersion((before) => before + 1)
    return () => {
      stop()
      cancel?.()
    }
  }, [updates])
  const devices = useMemo(() => {
    const wanted = [...updates.values()].filter((device) => project === undefined || device.project === project)
    return wanted.sort((one, next) => (one.deviceIdentifier < next.deviceIdentifier ? -1 : 1))
  }, [updates, project, version])
  // An empty map does not show whether it is complete, so the server is asked.
  const first = useCall(() => client.call('GET /updates', { query: { limit: 1 } }), [])
  return { devices, isComplete: updates.size > 0 || first.value?.length === 0 }
}
