import { keep } from '#actors/kept'
import { walkingIndex } from '#actors/project/address'
import type { Walk, WalkDone, WalkProgress, WalkRequest } from '#actors/project/commands'
import type { ProjectNotices } from '#actors/project/notices'
import { isWalking, type ProjectState, type StoredWalk, walkRecord } from '#actors/project/state'
import { tallyChanges } from '#actors/project/tally'
import type { Entry } from '#model/entry'
import { boundDevicesMax } from '#model/group'
import { Problem } from '#model/problem'
import type { StoredRollout } from '#model/rollout'
import { answer, type Decision, type IndexChange, type RecordChange, refuse, type Turn } from '#runtime/actor'

/** Scans that wait behind the running one. Requests of one author for one reason are merged. */
export const waitingWalksMax = 100

/** All scans of a project. */
type Walks = Pick<ProjectState, 'walk' | 'nextWalks' | 'openWalks'>

/** The changes to store for the scans. */
interface WalkChanges {
  readonly records: readonly RecordChange[]
  readonly indexes: readonly IndexChange[]
}

/** The result of requesting a scan. */
export interface WantedWalk extends WalkChanges {
  /** False: it waits behind another scan. */
  readonly isBegun: boolean
}

/**
 * One scan runs at a time. Waiting requests of the same author for the same reason are merged into one, which covers
 * the devices of all. A scan for a rollout that does not run is not begun: without the rollout, it would select the
 * newest release.
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

/** `rollout`: id of the current rollout when the scan begins. */
export function withWalk(state: ProjectState, request: WalkRequest, rollout: string | null): WantedWalk {
  return { ...changesOf(state, wanted(state, request, rollout)), isBegun: !state.walk }
}

/** The rollout was deleted: no update begins because of it. The running scan checks no more devices. */
export function withoutRolloutWalks(state: ProjectState): WalkChanges {
  if (!isWalking(state)) return { records: [], indexes: [] }
  const { walk } = state
  return changesOf(state, {
    walk: walk?.by === 'rollout' ? { ...walk, devices: [] } : walk,
    nextWalks: notForRollouts(state.nextWalks),
    openWalks: notForRollouts(state.openWalks),
  })
}

/** Requests a scan for the rollout as stored last; waiting scans of an earlier author are dropped. */
export function withRolloutWalk(state: ProjectState, { id, updatedBy }: StoredRollout): WantedWalk {
  const others = { ...state, nextWalks: notForRollouts(state.nextWalks), openWalks: notForRollouts(state.openWalks) }
  const walks = wanted(others, { by: 'rollout', devices: null, author: updatedBy }, id)
  return { ...changesOf(state, walks), isBegun: !state.walk }
}

/** Progress of a scan that has ended is ignored. */
export function decideWalkProgress(state: ProjectState, { cursor, chosen }: WalkProgress): Decision<Entry> {
  const { walk } = state
  if (!walk) return answer(undefined)
  return keep(changesOf(state, { ...state, walk: { ...walk, cursor, chosen } }).records)
}

/** The next scan begins. A complete scan for a rollout determines the number of selected devices. */
export function decideWalkDone(
  state: ProjectState,
  { chosen, isBegun }: WalkDone,
  { tenant }: Turn,
  notices: ProjectNotices,
): Decision<Entry> {
  const { project, walk, nextWalks, openWalks, rollout, tally } = state
  if (!walk) return answer(undefined)
  const [next, ...waiting] = nextWalks
  const counted = isWhole(walk) && rollout && walk.rollout === rollout.id
  const tallied = counted
    ? tallyChanges(state, { ...tally, counts: { ...tally.counts, chosen }, isChosenKnown: true })
    : undefined
  const walks = changesOf(state, {
    walk: next && begun(next, rollout?.id ?? null),
    nextWalks: waiting,
    openWalks: isBegun ? [] : withOpen(openWalks, walk),
  })
  return keep([...walks.records, ...(tallied?.records ?? [])], {
    indexes: walks.indexes,
    effects: [
      ...(next ? [() => notices.walkWanted(tenant, project)] : []),
      ...(tallied?.isStopped ? [() => notices.rolloutChanged(tenant, project)] : []),
    ],
  })
}

/** No device of a completed scan waits for its update any more. */
export function decideWalksBegun(state: ProjectState): Decision<Entry> {
  if (state.openWalks.length === 0) return answer(undefined)
  const { records, indexes } = changesOf(state, { ...state, openWalks: [] })
  return keep(records, { indexes })
}

/** After a restart: devices that waited for their update did so in memory, so the scan is repeated. */
export function decideWalkAgain(state: ProjectState): Decision<Entry> {
  const { openWalks, rollout } = state
  if (openWalks.length === 0) return answer(undefined)
  let walks: Walks = { ...state, openWalks: [] }
  for (const request of openWalks) {
    if (request.by === 'rollout' && rollout?.state !== 'running') continue
    walks = wanted(walks, request, rollout?.id ?? null)
  }
  const { records, indexes } = changesOf(state, walks)
  return keep(records, { indexes })
}

function wanted(walks: Walks, request: WalkRequest, rollout: string | null): Walks {
  const listed = { ...request, devices: request.devices && listOf(request.devices) }
  if (!walks.walk) return { ...walks, walk: begun(listed, rollout) }
  return { ...walks, nextWalks: withRequest(walks.nextWalks, listed) }
}

/** If there are too many, the first authors in order are dropped. A cancelled scan leaves nothing open. */
function withOpen(open: readonly WalkRequest[], { by, devices, author }: StoredWalk): readonly WalkRequest[] {
  if (devices?.length === 0) return open
  return withRequest(open, { by, devices, author }).slice(-waitingWalksMax)
}

function withRequest(requests: readonly WalkRequest[], request: WalkRequest): readonly WalkRequest[] {
  const place = requests.findIndex((other) => isAlike(other, request))
  return place < 0 ? [...requests, request] : requests.with(place, united(requests[place] as WalkRequest, request))
}

function notForRollouts(requests: readonly WalkRequest[]): readonly WalkRequest[] {
  return requests.filter(({ by }) => by !== 'rollout')
}

function changesOf(before: ProjectState, after: Walks): WalkChanges {
  const { walk = null, nextWalks: waiting, openWalks: open } = after
  const isPresent = isWalking(after)
  const value = isPresent ? { running: walk, waiting, ...(open.length > 0 && { open }) } : null
  return {
    records: [{ name: walkRecord, value }],
    indexes: isWalking(before) === isPresent ? [] : [{ index: walkingIndex, entry: before.project, isPresent }],
  }
}

function begun(request: WalkRequest, rollout: string | null): StoredWalk {
  return { ...request, cursor: '', chosen: 0, rollout }
}

/** Whether it covers all devices, with no limit other than the rollout's own. */
function isWhole({ by, devices, author }: StoredWalk): boolean {
  return devices === null && (author === null || by === 'rollout')
}

function isAlike(one: WalkRequest, other: WalkRequest): boolean {
  return one.by === other.by && one.author === other.author
}

function united(one: WalkRequest, other: WalkRequest): WalkRequest {
  return { ...one, devices: one.devices && other.devices && listOf([...one.devices, ...other.devices]) }
}

/** Sorted, without duplicates; null (all devices) if there are too many. */
function listOf(devices: readonly string[]): readonly string[] | null {
  const names = [...new Set(devices)].sort()
  return names.length > boundDevicesMax ? null : names
}
