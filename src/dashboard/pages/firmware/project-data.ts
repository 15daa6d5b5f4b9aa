import { useEffect, useMemo, useState } from 'preact/hooks'
import type { FirmwareView } from '#client/client'
import { type GroupOption, groupOf } from '#dashboard/binding/binding'
import { answerOrDefault, serverErrorOf, statusOf } from '#dashboard/components/problem-text'
import type { CallState, PagedList } from '#dashboard/components/use-call'
import { useIsComplete } from '#dashboard/components/use-observable'
import { client, liveState, mayUser } from '#dashboard/session'
import { delayed } from '#dashboard/timers'
import type { PinEntry, ReleaseEntry } from '#model/release'
import type { RolloutEntry } from '#model/rollout'
import type { Action } from '#model/scope'

export interface ProjectData {
  readonly project: string
  readonly releases: CallState<readonly ReleaseEntry[]>
  /** Null: no rollout. */
  readonly rollout: CallState<RolloutEntry | null>
  readonly pins: PagedList<PinEntry>
  readonly devices: readonly FirmwareView[]
  /** Whether all devices were read. */
  readonly isComplete: boolean
}

/**
 * Projects, releases, pins and rollouts exist only on the embedded update server, not on an external server. Contract
 * 6.
 */

/** The pages of a list, or an empty page if the project does not exist yet. */
export async function* pagesOrEmpty<Row>(pages: AsyncIterable<readonly Row[]>): AsyncGenerator<readonly Row[]> {
  try {
    yield* pages
  } catch (problem) {
    if (!isMissing(problem)) throw problem
    yield []
  }
}

/** The project, or its rollout, does not exist yet. The first release, pin or rollout creates a project. */
export function isMissing(problem: unknown): boolean {
  return statusOf(problem) === 404 && !isExternalServer(problem)
}

/** Whether the request was refused because firmware comes from another update server. */
export function isExternalServer(problem: unknown): boolean {
  return statusOf(problem) === 404 && serverErrorOf(problem).includes('another update server')
}

/** The fields of a rollout in its form, without its progress. */
export function rolloutSettings(rollout: RolloutEntry | null): unknown {
  if (!rollout) return null
  const { firmware, percent, groups, errorThresholdPercent, window, maxAttempts } = rollout
  return { firmware, percent, groups, errorThresholdPercent, window, maxAttempts }
}

/** Null if the project has no rollout. */
export function readRollout(project: string): Promise<RolloutEntry | null> {
  const call = client.call('GET /updates/projects/:project/rollout', { parameters: { project } })
  return answerOrDefault(call, null, isMissing)
}

/** The versions with a release, the newest release first; each once. */
export function versionsOf(releases: readonly ReleaseEntry[] = []): readonly string[] {
  const newestFirst = [...releases].sort((one, next) => next.createdAt - one.createdAt)
  return [...new Set(newestFirst.map(({ firmware }) => firmware))]
}

/** `1.5.0 for rev-b, index 1` */
export function releaseText({ firmware, hardware, index }: ReleaseEntry): string {
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
  const mayDevice = (deviceIdentifier: string) => mayUser('updates', action, { deviceIdentifier })
  return groups.every((id) => groupOf(id, known)?.devices.every(mayDevice))
}

/** The whole fleet is processed at most this often. */
const refreshMs = 1_000

/** The firmware of the devices of one project, or of all, live. Contract 6. */
export function useFleetFirmware(project?: string): Pick<ProjectData, 'devices' | 'isComplete'> {
  const { updates } = liveState()
  const [version, setVersion] = useState(0)
  useEffect(() => {
    const update = () => setVersion((before) => before + 1)
    const updating = delayed(refreshMs, update)
    const stop = updates.subscribe(() => updating.start())
    // Includes changes between the rendering and this effect.
    update()
    return () => {
      stop()
      updating.cancel()
    }
  }, [updates])
  const devices = useMemo(() => {
    const wanted = [...updates.values()].filter((device) => project === undefined || device.project === project)
    return wanted.sort((one, next) => (one.deviceIdentifier < next.deviceIdentifier ? -1 : 1))
  }, [updates, project, version])
  return { devices, isComplete: useIsComplete(updates) }
}
