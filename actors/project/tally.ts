import { keep } from '#actors/kept'
import type { JobMoved, Stage } from '#actors/project/commands'
import type { ProjectNotices } from '#actors/project/notices'
import { type ProjectState, rolloutRecord, type StoredTally, tallyRecord } from '#actors/project/state'
import type { Entry } from '#model/entry'
import { releaseName } from '#model/release'
import type { RolloutCounts, StoredRollout } from '#model/rollout'
import { answer, type Decision, type RecordChange, type Turn } from '#runtime/actor'

/** With fewer devices than these, errors say little: so many, or all that are chosen, stand for the fleet at least. */
const sampleDevices = 20

/** What is recorded when the tally is another one. */
export interface TallyChanges {
  readonly records: readonly RecordChange[]
  /** The rollout came to its end by errors. */
  readonly isStopped: boolean
}

/** An update of a device came to stand elsewhere. What came by another rollout than that of now only holds its release. */
export function decideJobMoved(
  state: ProjectState,
  { release, rollout: by, from, to }: JobMoved,
  { tenant }: Turn,
  notices: ProjectNotices,
): Decision<Entry> {
  const { project, rollout, tally } = state
  const uses = usesAfter(tally, releaseName(release), from, to)
  const isCounted = rollout !== undefined && by === rollout.id && from !== to
  if (uses === tally.uses && !isCounted) return answer(undefined)
  const counts = isCounted ? countsAfter(tally.counts, from, to) : tally.counts
  const { records, isStopped } = tallyChanges(state, { ...tally, uses, counts })
  return keep(records, { effects: isStopped ? [() => notices.rolloutChanged(tenant, project)] : [] })
}

/** The tally as it is to be, and the rollout by it: one that runs stops when too much went wrong. */
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

/** Kept while there is something to count. */
export function tallyChange(tally: StoredTally, hasRollout: boolean): RecordChange {
  const isKept = hasRollout || Object.keys(tally.uses).length > 0
  return { name: tallyRecord, value: isKept ? tally : null }
}

/** What a threshold looks at. Devices that refused count as failed. */
export function finishedOf({ done, failed, refused }: RolloutCounts): StoredRollout['countedFrom'] {
  return { finished: done + failed + refused, failed: failed + refused }
}

/** Devices that had finished before, and are tried again, count anew when they finish. */
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

/** An update that runs holds its release. */
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
