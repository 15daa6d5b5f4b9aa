import type { ProjectNotices } from '#actors/notice-bus'
import { type RequestedScan, scanDecisions, withoutRolloutScans, withRolloutScan, withScan } from '#actors/project/scan'
import {
  emptyProject,
  isEmpty,
  noCounts,
  type ProjectCommand,
  type ProjectCommands,
  type ProjectState,
  type PutPinAnswer,
  type PutReleaseAnswer,
  pinPrefix,
  projectIndexChanges,
  putRecord,
  type RolloutAnswer,
  releasePrefix,
  rolloutRecord,
  type StoredTally,
  scanRecord,
  tallyRecord,
} from '#actors/project/state'
import { decideJobMoved, finishedOf, tallyChange } from '#actors/project/tally'
import { type Decisions, recordActor, recordsWithoutEntry } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { pinsMax, type ReleaseKey, releaseName, releasesMax } from '#model/release'
import type { StoredRollout } from '#model/rollout'
import {
  type ActorDefinition,
  answer,
  type Decision,
  type RecordChange,
  type Recorded,
  refuse,
  type Turn,
} from '#runtime/actor'

/**
 * A project of the embedded update server: its releases, pins, rollout, the rollout's counts, and the scans of its
 * devices. Kept awake while it has any of these, because every device that connects reads it. Projects cause no events.
 * Contract 6.
 */
export function projectActor(notices: ProjectNotices): ActorDefinition<ProjectState, ProjectCommand, Entry> {
  return recordActor<ProjectState, ProjectCommands>({
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
      ...ownDecisions(notices),
      ...scanDecisions(notices),
      job_moved: (state, command, turn) => decideJobMoved(state, command, turn, notices),
    },
  })
}

function ownDecisions(notices: ProjectNotices) {
  return {
    /**
     * Contract 6. A release is immutable: uploading the same bytes again has no effect, other bytes are refused. If a
     * rollout of this version is running, it continues at once with the new release.
     */
    put_release(state, { release }, { tenant }) {
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
    },

    /** Contract 6. A release in use is not deleted. */
    delete_release(state, { key }, { tenant }) {
      const { project, releases } = state
      const name = releaseName(key)
      const before = releases.get(name)
      if (!before) return refuse(new Problem('not_found'))
      if (isInUse(state, key)) return refuse(new Problem('conflict', 'the release is in use'))
      return recordsWithoutEntry([{ name: `${releasePrefix}${name}`, value: null }], {
        indexes: projectIndexChanges(state, -1),
        effects: [() => notices.releasesChanged(tenant, project, before.sha256, null, name)],
      })
    },

    /** Contract 6. Neither the device nor a release of that version has to exist. */
    put_pin(state, { device, firmware }) {
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
    },

    delete_pin(state, { device }) {
      if (!state.pins.has(device)) return refuse(new Problem('not_found'))
      return recordsWithoutEntry([{ name: `${pinPrefix}${device}`, value: null }], {
        indexes: projectIndexChanges(state, -1),
      })
    },

    /**
     * Contract 6. Another firmware in the body begins a new rollout, which runs and counts from zero. With the same
     * firmware, the rollout keeps its state (running, paused or stopped), and earlier failures no longer count. If the
     * rollout is running, the devices are scanned again.
     */
    put_rollout(state, { body, id, author }, turn) {
      const { rollout: before, tally } = state
      const isNew = before?.body.firmware !== body.firmware
      const createdOrKept: Omit<StoredRollout, 'body' | 'updatedBy' | 'updatedAt'> = isNew
        ? { id, state: 'running', countedFrom: finishedOf(noCounts), createdBy: author, createdAt: turn.now }
        : { ...before, countedFrom: finishedOf(tally.counts) }
      const rollout: StoredRollout = { ...createdOrKept, body, updatedBy: author, updatedAt: turn.now }
      const counted: StoredTally = isNew ? { ...tally, counts: noCounts, isChosenKnown: false } : tally
      return storeRollout(state, rollout, turn, notices, {
        records: [tallyChange(counted, true)],
        indexes: before ? [] : projectIndexChanges(state, 1),
        answer: { isNew, rollout, counts: counted.counts } satisfies RolloutAnswer,
      })
    },

    delete_rollout(state, _, { tenant }) {
      const { project, rollout, tally } = state
      if (!rollout) return refuse(new Problem('not_found'))
      const uncounted: StoredTally = { ...tally, counts: noCounts, isChosenKnown: false }
      const scans = withoutRolloutScans(state)
      return recordsWithoutEntry(
        [{ name: rolloutRecord, value: null }, tallyChange(uncounted, false), ...scans.records],
        {
          indexes: [...projectIndexChanges(state, -1), ...scans.indexes],
          effects: [() => notices.rolloutChanged(tenant, project)],
        },
      )
    },

    /** Running updates continue; no new ones begin. A rollout that is not running keeps its state and its `updatedBy`. */
    pause: (state, { author }, turn) => switchRollout(state, { state: 'paused' }, author, turn, notices),

    /** Resumes the rollout after a pause, or after failures that stopped it. Earlier failures no longer count. */
    resume(state, { author }, turn) {
      const running = { state: 'running', countedFrom: finishedOf(state.tally.counts) } as const
      return switchRollout(state, running, author, turn, notices)
    },
  } satisfies Partial<Decisions<ProjectState, ProjectCommands>>
}

/** Whether a pin or the rollout names the version, or an update to the release is running. */
function isInUse({ pins, rollout, tally }: ProjectState, key: ReleaseKey): boolean {
  if (rollout?.body.firmware === key.firmware || tally.uses[releaseName(key)] !== undefined) return true
  for (const firmware of pins.values()) if (firmware === key.firmware) return true
  return false
}

/** Changes nothing if the rollout is running, or is not running, already. */
function switchRollout(
  state: ProjectState,
  change: Pick<StoredRollout, 'state'> & Partial<StoredRollout>,
  author: string,
  turn: Turn,
  notices: ProjectNotices,
): Decision<Entry> {
  const { rollout, tally } = state
  if (!rollout) return refuse(new Problem('not_found'))
  const isSame = (rollout.state === 'running') === (change.state === 'running')
  const switched = isSame ? rollout : { ...rollout, ...change, updatedBy: author, updatedAt: turn.now }
  const reply: RolloutAnswer = { isNew: false, rollout: switched, counts: tally.counts }
  return isSame ? answer(reply) : storeRollout(state, switched, turn, notices, { answer: reply })
}

/**
 * Stores the changed rollout. A running rollout requests a scan of the devices, with the permissions of its current
 * author.
 */
function storeRollout(
  state: ProjectState,
  rollout: StoredRollout,
  { tenant }: Turn,
  notices: ProjectNotices,
  more: Pick<Recorded<Entry>, 'indexes' | 'answer'> & { readonly records?: readonly RecordChange[] },
): Decision<Entry> {
  const { project } = state
  const scan = rollout.state === 'running' ? withRolloutScan(state, rollout) : undefined
  return recordsWithoutEntry(
    [{ name: rolloutRecord, value: rollout }, ...(more.records ?? []), ...(scan?.records ?? [])],
    {
      indexes: [...(more.indexes ?? []), ...(scan?.indexes ?? [])],
      effects: [
        () => notices.rolloutChanged(tenant, project),
        ...(scan?.isBegun ? [() => notices.scanRequested(tenant, project)] : []),
      ],
      answer: more.answer,
    },
  )
}
