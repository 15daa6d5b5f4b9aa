import type { ProjectNotices } from '#actors/notice-bus'
import type { DeleteRelease, PutRelease, PutReleaseAnswer } from '#actors/project/commands'
import { type RequestedScan, withScan } from '#actors/project/scan'
import { type ProjectState, projectIndexChanges, releasePrefix } from '#actors/project/state'
import { recordsWithoutEntry } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type ReleaseKey, releaseName, releasesMax } from '#model/release'
import { answer, type Decision, refuse, type Turn } from '#runtime/actor'

/**
 * Contract 6. A release is immutable: uploading the same bytes again has no effect, other bytes are refused. If a
 * rollout of this version is running, it continues at once with the new release.
 */
export function decidePutRelease(
  state: ProjectState,
  { release }: PutRelease,
  { tenant }: Turn,
  notices: ProjectNotices,
): Decision<Entry> {
  const { project, releases, rollout } = state
  const name = releaseName(release)
  const before = releases.get(name)
  if (before && before.sha256 !== release.sha256) {
    return refuse(new Problem('conflict', 'the release exists with other bytes'))
  }
  if (before) return answer({ isNew: false, release: before } satisfies PutReleaseAnswer)
  if (releases.size >= releasesMax) {
    return refuse(new Problem('conflict', `a project has at most ${releasesMax} releases`))
  }
  const isAwaited = rollout?.state === 'running' && rollout.body.firmware === release.firmware
  const scan: RequestedScan | undefined = isAwaited
    ? withScan(state, { by: 'rollout', devices: null, author: rollout.updatedBy }, rollout.id)
    : undefined
  return recordsWithoutEntry([{ name: `${releasePrefix}${name}`, value: release }, ...(scan?.records ?? [])], {
    indexes: [...projectIndexChanges(state, 1), ...(scan?.indexes ?? [])],
    effects: [
      () => notices.releasesChanged(tenant, project, null, release.sha256, name),
      ...(scan?.isBegun ? [() => notices.scanRequested(tenant, project)] : []),
    ],
    answer: { isNew: true, release } satisfies PutReleaseAnswer,
  })
}

/** Contract 6. A release in use is not deleted. */
export function decideDeleteRelease(
  state: ProjectState,
  { key }: DeleteRelease,
  { tenant }: Turn,
  notices: ProjectNotices,
): Decision<Entry> {
  const { project, releases } = state
  const name = releaseName(key)
  const before = releases.get(name)
  if (!before) return refuse(new Problem('not_found'))
  if (isInUse(state, key)) return refuse(new Problem('conflict', 'the release is in use'))
  return recordsWithoutEntry([{ name: `${releasePrefix}${name}`, value: null }], {
    indexes: projectIndexChanges(state, -1),
    effects: [() => notices.releasesChanged(tenant, project, before.sha256, null, name)],
  })
}

/** Whether a pin or the rollout names the version, or an update to the release is running. */
function isInUse({ pins, rollout, tally }: ProjectState, key: ReleaseKey): boolean {
  if (rollout?.body.firmware === key.firmware || tally.uses[releaseName(key)] !== undefined) return true
  for (const firmware of pins.values()) if (firmware === key.firmware) return true
  return false
}
