import type { ProjectNotices } from '#actors/notice-bus'
import type {
  DeletePin,
  DeleteRelease,
  ProjectCommand,
  PutPin,
  PutPinAnswer,
  PutRelease,
  PutReleaseAnswer,
} from '#actors/project/commands'
import { decideDeleteRollout, decidePause, decidePutRollout, decideResume } from '#actors/project/rollout'
import {
  decideRepeatScans,
  decideScan,
  decideScanDone,
  decideScanProgress,
  decideScansBegun,
  type RequestedScan,
  withScan,
} from '#actors/project/scan'
import {
  emptyProject,
  isEmpty,
  type ProjectState,
  pinPrefix,
  projectIndexChanges,
  putRecord,
  releasePrefix,
  rolloutRecord,
  scanRecord,
  tallyRecord,
} from '#actors/project/state'
import { decideJobMoved } from '#actors/project/tally'
import { recordActor, recordsWithoutEntry } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { pinsMax, type ReleaseKey, releaseName, releasesMax } from '#model/release'
import { type ActorDefinition, answer, type Decision, refuse, type Turn } from '#runtime/actor'

/**
 * A project of the embedded update server: its releases, pins, rollout, the rollout's counts, and the scans of its
 * devices. Kept awake while it has any of these, because every device that connects reads it. Projects cause no events.
 * Contract 6.
 */
export function projectActor(notices: ProjectNotices): ActorDefinition<ProjectState, ProjectCommand, Entry> {
  return recordActor({
    kind: 'project',
    records: {
      [`${releasePrefix}*`]: 'release',
      [`${pinPrefix}*`]: 'pin',
      [rolloutRecord]: 'rollout',
      [tallyRecord]: 'tally of a project',
      [scanRecord]: 'scans of a project',
    },
    isForgettable: isEmpty,
    empty: ({ id }) => emptyProject(id),
    put: putRecord,
    decisions: {
      put_release: (state, command, turn) => decidePutRelease(state, command, turn, notices),
      delete_release: (state, command, turn) => decideDeleteRelease(state, command, turn, notices),
      put_pin: decidePutPin,
      delete_pin: decideDeletePin,
      put_rollout: (state, command, turn) => decidePutRollout(state, command, turn, notices),
      delete_rollout: (state, _, turn) => decideDeleteRollout(state, turn, notices),
      pause: (state, command, turn) => decidePause(state, command, turn, notices),
      resume: (state, command, turn) => decideResume(state, command, turn, notices),
      scan: (state, command, turn) => decideScan(state, command, turn, notices),
      scan_progress: decideScanProgress,
      scan_done: (state, command, turn) => decideScanDone(state, command, turn, notices),
      scans_begun: decideScansBegun,
      repeat_scans: decideRepeatScans,
      job_moved: (state, command, turn) => decideJobMoved(state, command, turn, notices),
    },
  })
}

/** Contract 6. Neither the device nor a release of that version has to exist. */
function decidePutPin(state: ProjectState, { device, firmware }: PutPin): Decision<Entry> {
  const before = state.pins.get(device)
  const isNew = before === undefined
  if (before === firmware) return answer({ isNew } satisfies PutPinAnswer)
  if (isNew && state.pins.size >= pinsMax) {
    return refuse(new Problem('conflict', `a project has at most ${pinsMax} pins`))
  }
  return recordsWithoutEntry([{ name: `${pinPrefix}${device}`, value: firmware }], {
    indexes: isNew ? projectIndexChanges(state, 1) : [],
    answer: { isNew } satisfies PutPinAnswer,
  })
}

function decideDeletePin(state: ProjectState, { device }: DeletePin): Decision<Entry> {
  if (!state.pins.has(device)) return refuse(new Problem('not_found'))
  return recordsWithoutEntry([{ name: `${pinPrefix}${device}`, value: null }], {
    indexes: projectIndexChanges(state, -1),
  })
}

/**
 * Contract 6. A release is immutable: uploading the same bytes again has no effect, other bytes are refused. If a
 * rollout of this version is running, it continues at once with the new release.
 */
function decidePutRelease(
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
function decideDeleteRelease(
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
