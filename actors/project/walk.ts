import { keep } from '#actors/kept'
import { walkingIndex } from '#actors/project/address'
import type { Walk, WalkDone, WalkProgress, WalkRequest } from '#actors/project/commands'
import type { ProjectNotices } from '#actors/project/notices'
import { type ProjectState, type StoredWalk, type StoredWalks, walkRecord } from '#actors/project/state'
import { tallyChanges } from '#actors/project/tally'
import type { Entry } from '#model/entry'
import { boundDevicesMax } from '#model/group'
import { Problem } from '#model/problem'
import { answer, type Decision, type IndexChange, type RecordChange, refuse, type Turn } from '#runtime/actor'

/** Walks that wait behind the one under way. Those that one author wants for one reason are one. */
export const waitingWalksMax = 100

/** What is recorded when a walk is wanted. */
export interface WantedWalk {
  readonly records: readonly RecordChange[]
  readonly indexes: readonly IndexChange[]
  /** False: it waits behind another one. */
  readonly isBegun: boolean
}

/**
 * One walk is under way; behind it those that are wanted for the same reason by the same author become one, which goes
 * through the devices of all. One for a rollout that does not run does not begin: without a rollout, what it would find is
 * whatever is newest.
 */
export function decideWalk(
  state: ProjectState,
  { request }: Walk,
  { tenant }: Turn,
  notices: ProjectNotices,
): Decision<Entry> {
  const { project, rollout, nextWalks } = state
  if (request.by === 'rollout' && rollout?.state !== 'running') return answer(undefined)
  if (nextWalks.length >= waitingWalksMax && !nextWalks.some((waiting) => isAlike(waiting, request))) {
    return refuse(new Problem('overloaded'))
  }
  const { records, indexes, isBegun } = withWalk(state, request, rollout?.id ?? null)
  return keep(records, { indexes, effects: isBegun ? [() => notices.walkWanted(tenant, project)] : [] })
}

/** `rollout`: id of the one there is when it begins. */
export function withWalk(state: ProjectState, request: WalkRequest, rollout: string | null): WantedWalk {
  const { project, walk, nextWalks } = state
  const wanted = { ...request, devices: request.devices && listOf(request.devices) }
  if (!walk) {
    return {
      records: recordsOf({ running: begun(wanted, rollout), waiting: [] }),
      indexes: [{ index: walkingIndex, entry: project, isPresent: true }],
      isBegun: true,
    }
  }
  const place = nextWalks.findIndex((waiting) => isAlike(waiting, wanted))
  const waiting =
    place < 0 ? [...nextWalks, wanted] : nextWalks.with(place, united(nextWalks[place] as WalkRequest, wanted))
  return { records: recordsOf({ running: walk, waiting }), indexes: [], isBegun: false }
}

/** The rollout is no more: nothing is begun because of it. The walk under way goes through no more devices. */
export function withoutRolloutWalks({ walk, nextWalks }: ProjectState): readonly RecordChange[] {
  if (!walk) return []
  const running = walk.by === 'rollout' ? { ...walk, devices: [] } : walk
  return recordsOf({ running, waiting: nextWalks.filter(({ by }) => by !== 'rollout') })
}

/** Nobody waits to hear of one that is over. */
export function decideWalkProgress(
  { walk, nextWalks }: ProjectState,
  { cursor, chosen }: WalkProgress,
): Decision<Entry> {
  if (!walk) return answer(undefined)
  return keep(recordsOf({ running: { ...walk, cursor, chosen }, waiting: nextWalks }))
}

/** The next one begins. What went through all devices for a rollout knows how many it means. */
export function decideWalkDone(
  state: ProjectState,
  { chosen }: WalkDone,
  { tenant }: Turn,
  notices: ProjectNotices,
): Decision<Entry> {
  const { project, walk, nextWalks, rollout, tally } = state
  if (!walk) return answer(undefined)
  const [next, ...waiting] = nextWalks
  const counted = isWhole(walk) && rollout && walk.rollout === rollout.id
  const tallied = counted
    ? tallyChanges(state, { ...tally, counts: { ...tally.counts, chosen }, isChosenKnown: true })
    : undefined
  const walks = recordsOf(next ? { running: begun(next, rollout?.id ?? null), waiting } : null)
  return keep([...walks, ...(tallied?.records ?? [])], {
    indexes: next ? [] : [{ index: walkingIndex, entry: project, isPresent: false }],
    effects: [
      ...(next ? [() => notices.walkWanted(tenant, project)] : []),
      ...(tallied?.isStopped ? [() => notices.rolloutChanged(tenant, project)] : []),
    ],
  })
}

function recordsOf(walks: StoredWalks | null): readonly RecordChange[] {
  return [{ name: walkRecord, value: walks }]
}

function begun(request: WalkRequest, rollout: string | null): StoredWalk {
  return { ...request, cursor: '', chosen: 0, rollout }
}

/** All devices, and nobody's reach but the rollout's own narrowed them. */
function isWhole({ by, devices, author }: StoredWalk): boolean {
  return devices === null && (author === null || by === 'rollout')
}

function isAlike(one: WalkRequest, other: WalkRequest): boolean {
  return one.by === other.by && one.author === other.author
}

function united(one: WalkRequest, other: WalkRequest): WalkRequest {
  return { ...one, devices: one.devices && other.devices && listOf([...one.devices, ...other.devices]) }
}

/** Sorted, each once; with too many of them it is about all. */
function listOf(devices: readonly string[]): readonly string[] | null {
  const names = [...new Set(devices)].sort()
  return names.length > boundDevicesMax ? null : names
}
