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
  isNothing,
  type ProjectState,
  pinPrefix,
  putRecord,
  releasePrefix,
  rolloutRecord,
  scanRecord,
  tallyRecord,
} from '#actors/project/state'
import { decideJobMoved } from '#actors/project/tally'
import { rejectEntry, restoreState } from '#actors/record-only'
import type { Entry } from '#model/entry'
import type { ActorDefinition, RecordChange, RecordFormat } from '#runtime/actor'

const format = (name: string): RecordFormat => ({ name, version: 1, upgrades: {} })

/**
 * A project of the embedded update server: its releases, pins, rollout, the rollout's counts, and the scans of its
 * devices. Kept awake while it has any of these, because every device that connects reads it. Projects cause no events.
 * Contract 6.
 */
export function projectActor(notices: ProjectNotices): ActorDefinition<ProjectState, ProjectCommand, Entry> {
  return {
    kind: 'project',
    persistence: 'write_through',
    formats: {
      [`${releasePrefix}*`]: format('release'),
      [`${pinPrefix}*`]: format('pin'),
      [rolloutRecord]: format('rollout'),
      [tallyRecord]: format('tally of a project'),
      [scanRecord]: format('walks of a project'),
    },
    isForgettable: isNothing,
    wake: ({ id }, records) => restoreState(emptyProject(id), records, putRecord),
    change: (state, change) => putRecord(state, change as RecordChange),
    apply: rejectEntry,
    decide(state, command, turn) {
      switch (command.type) {
        case 'put_release':
          return decidePutRelease(state, command, turn, notices)
        case 'delete_release':
          return decideDeleteRelease(state, command, turn, notices)
        case 'put_pin':
          return decidePutPin(state, command)
        case 'delete_pin':
          return decideDeletePin(state, command)
        case 'put_rollout':
          return decidePutRollout(state, command, turn, notices)
        case 'delete_rollout':
          return decideDeleteRollout(state, turn, notices)
        case 'pause':
          return decidePause(state, command, turn, notices)
        case 'resume':
          return decideResume(state, command, turn, notices)
        case 'scan':
          return decideScan(state, command, turn, notices)
        case 'scan_progress':
          return decideScanProgress(state, command)
        case 'scan_done':
          return decideScanDone(state, command, turn, notices)
        case 'scans_begun':
          return decideScansBegun(state)
        case 'repeat_scans':
          return decideRepeatScans(state)
        case 'job_moved':
          return decideJobMoved(state, command, turn, notices)
      }
    },
  }
}
