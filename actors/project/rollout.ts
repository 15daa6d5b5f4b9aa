import type { ProjectNotices } from '#actors/notice-bus'
import type { PutRollout, RolloutAnswer, SwitchRollout } from '#actors/project/commands'
import { withoutRolloutScans, withRolloutScan } from '#actors/project/scan'
import {
  noCounts,
  type ProjectState,
  projectIndexChanges,
  rolloutRecord,
  type StoredTally,
} from '#actors/project/state'
import { finishedOf, tallyChange } from '#actors/project/tally'
import { recordsWithoutEntry } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { StoredRollout } from '#model/rollout'
import { answer, type Decision, type RecordChange, type Recorded, refuse, type Turn } from '#runtime/actor'

/**
 * Contract 6. Another firmware in the body begins a new rollout, which runs and counts from zero. With the same
 * firmware, the rollout keeps its state (running, paused or stopped), and earlier failures no longer count. If the
 * rollout is running, the devices are scanned again.
 */
export function decidePutRollout(
  state: ProjectState,
  { body, id, author }: PutRollout,
  turn: Turn,
  notices: ProjectNotices,
): Decision<Entry> {
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
}

export function decideDeleteRollout(state: ProjectState, { tenant }: Turn, notices: ProjectNotices): Decision<Entry> {
  const { project, rollout, tally } = state
  if (!rollout) return refuse(new Problem('not_found'))
  const uncounted: StoredTally = { ...tally, counts: noCounts, isChosenKnown: false }
  const scans = withoutRolloutScans(state)
  return recordsWithoutEntry([{ name: rolloutRecord, value: null }, tallyChange(uncounted, false), ...scans.records], {
    indexes: [...projectIndexChanges(state, -1), ...scans.indexes],
    effects: [() => notices.rolloutChanged(tenant, project)],
  })
}

/** Running updates continue; no new ones begin. A rollout that is not running keeps its state and its `updatedBy`. */
export function decidePause(
  state: ProjectState,
  { author }: SwitchRollout,
  turn: Turn,
  notices: ProjectNotices,
): Decision<Entry> {
  const { rollout, tally } = state
  if (!rollout) return refuse(new Problem('not_found'))
  if (rollout.state !== 'running') return answer(answerOf(rollout, tally))
  const paused: StoredRollout = { ...rollout, state: 'paused', updatedBy: author, updatedAt: turn.now }
  return storeRollout(state, paused, turn, notices, { answer: answerOf(paused, tally) })
}

/** Resumes the rollout after a pause, or after failures that stopped it. Earlier failures no longer count. */
export function decideResume(
  state: ProjectState,
  { author }: SwitchRollout,
  turn: Turn,
  notices: ProjectNotices,
): Decision<Entry> {
  const { rollout, tally } = state
  if (!rollout) return refuse(new Problem('not_found'))
  if (rollout.state === 'running') return answer(answerOf(rollout, tally))
  const resumed: StoredRollout = {
    ...rollout,
    state: 'running',
    countedFrom: finishedOf(tally.counts),
    updatedBy: author,
    updatedAt: turn.now,
  }
  return storeRollout(state, resumed, turn, notices, { answer: answerOf(resumed, tally) })
}

function answerOf(rollout: StoredRollout, { counts }: StoredTally): RolloutAnswer {
  return { isNew: false, rollout, counts }
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
