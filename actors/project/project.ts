import type { ProjectNotices } from '#actors/notice-bus'
import type { ProjectCommand } from '#actors/project/commands'
import { decideDeletePin, decidePutPin } from '#actors/project/pins'
import { decideDeleteRelease, decidePutRelease } from '#actors/project/releases'
import { decideDeleteRollout, decidePause, decidePutRollout, decideResume } from '#actors/project/rollout'
import {
  decideRepeatScans,
  decideScan,
  decideScanDone,
  decideScanProgress,
  decideScansBegun,
} from '#actors/project/scan'
import {
  emptyProject,
  isEmpty,
  type ProjectState,
  pinPrefix,
  putRecord,
  releasePrefix,
  rolloutRecord,
  scanRecord,
  tallyRecord,
} from '#actors/project/state'
import { decideJobMoved } from '#actors/project/tally'
import { recordActor } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import type { ActorDefinition } from '#runtime/actor'

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
