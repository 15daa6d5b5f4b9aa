import type { ProjectNotices } from '#actors/notice-bus'
import {
  type ProjectCommands,
  type ProjectState,
  rolloutRecord,
  type Stage,
  type StoredTally,
  tallyRecord,
} from '#actors/project/state'
import { recordsWithoutEntry } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import { releaseName } from '#model/release'
import type { RolloutCounts, StoredRollout } from '#model/rollout'
import { answer, type Decision, type RecordChange, type Turn } from '#runtime/actor'

/**
 * The error rate is computed over at least this number of devices, or over all selected devices if fewer are selected.
 */
const sampleDevices = 20

/** The changes to store for a new tally. */
export interface TallyChanges {
  readonly records: readonly RecordChange[]
  /** The error threshold stopped the rollout. */
  readonly isStopped: boolean
}

/**
 * The update of a device moved to another stage. An update that the current rollout did not begin only keeps its
 * release in use.
 */
export function decideJobMoved(
  state: ProjectState,
  { release, rollout: by, from, to }: ProjectCommands['job_moved'],
  { tenant }: Turn,
  notices: ProjectNotices,
): Decision<Entry> {
  const { project, rollout, tally } = state
  const uses = usesAfter(tally, releaseName(release), from, to)
  const isCounted = rollout !== undefined && by === rollout.id && from !== to
  if (uses === tally.uses && !isCounted) return answer(undefined)
  const counts = isCounted ? countsAfter(tally.counts, from, to) : tally.counts
  const { records, isStopped } = tallyChanges(state, { ...tally, uses, counts })
  return recordsWithoutEntry(records, { effects: isStopped ? [() => notices.rolloutChanged(tenant, project)] : [] })
}

/** The new tally and its effect on the rollout: a running rollout stops when the error threshold is reached. */
export function tallyChanges({ rollout }: ProjectState, tally: StoredTally): TallyChanges {
  if (!rollout) return { records: [tallyChange(tally, false)], isStopped: false }
  const countedFrom = lowered(rollout.countedFrom, tally.counts)
  const isLowered = countedFrom !== rollout.countedFrom
  const isStopped = rollout.state === 'running' && isTooMuch({ ...rollout, countedFrom }, tally)
  const value: StoredRollout = { ...rollout, countedFrom, state: isStopped ? 'stopped' : rollout.state }
  return {
    records: [tallyChange(tally, true), ...(isLowered || isStopped ? [{ name: rolloutRecord, value }] : [])],
    isStopped,
  }
}

/** The tally is stored while the project has a rollout or running updates. */
export function tallyChange(tally: StoredTally, hasRollout: boolean): RecordChange {
  const isKept = hasRollout || Object.keys(tally.uses).length > 0
  return { name: tallyRecord, value: isKept ? tally : null }
}

/** The input of the error threshold. Refused updates count as failed. */
export function finishedOf({ done, failed, refused }: RolloutCounts): StoredRollout['countedFrom'] {
  return { finished: done + failed + refused, failed: failed + refused }
}

/** Lowers `countedFrom`, so that devices that are tried again count again when they finish. */
function lowered(countedFrom: StoredRollout['countedFrom'], counts: RolloutCounts): StoredRollout['countedFrom'] {
  const now = finishedOf(counts)
  if (now.finished >= countedFrom.finished && now.failed >= countedFrom.failed) return countedFrom
  return {
    finished: Math.min(now.finished, countedFrom.finished),
    failed: Math.min(now.failed, countedFrom.failed),
  }
}

function isTooMuch({ body, countedFrom }: StoredRollout, { counts, isChosenKnown }: StoredTally): boolean {
  const { errorThresholdPercent } = body
  if (errorThresholdPercent === undefined) return false
  const now = finishedOf(counts)
  const failed = now.failed - countedFrom.failed
  const least = isChosenKnown ? Math.min(sampleDevices, counts.chosen) : sampleDevices
  const devices = Math.max(now.finished - countedFrom.finished, least)
  return failed >= 1 && failed * 100 >= errorThresholdPercent * devices
}

function countsAfter(counts: RolloutCounts, from: Stage | null, to: Stage | null): RolloutCounts {
  const after: Record<keyof RolloutCounts, number> = { ...counts }
  if (from) after[from]--
  if (to) after[to]++
  return after
}

/** A running update keeps its release in use. */
function usesAfter(
  { uses }: StoredTally,
  release: string,
  from: Stage | null,
  to: Stage | null,
): Readonly<Record<string, number>> {
  const more = Number(to === 'running') - Number(from === 'running')
  if (more === 0) return uses
  const { [release]: before = 0, ...others } = uses
  const count = before + more
  return count === 0 ? others : { ...others, [release]: count }
}
