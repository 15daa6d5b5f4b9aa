import type { WalkRequest } from '#actors/project/commands'
import { putOnShelves, type Shelves } from '#actors/project/shelves'
import type { StoredRelease } from '#model/release'
import type { RolloutCounts, StoredRollout } from '#model/rollout'
import type { RecordChange } from '#runtime/actor'

/** A project as its actor knows it. One that has nothing has an actor too: it says so. */
export interface ProjectState {
  readonly project: string
  /** By `releaseName`. */
  readonly releases: ReadonlyMap<string, StoredRelease>
  readonly shelves: Shelves
  /** By device: the version it is held at. */
  readonly pins: ReadonlyMap<string, string>
  readonly rollout: StoredRollout | undefined
  readonly tally: StoredTally
  /** The devices that are being gone through, and those that will be next, in that order. */
  readonly walk: StoredWalk | undefined
  readonly nextWalks: readonly WalkRequest[]
  /** Walks that are through, and of whose devices some still waited for their turn when that was stored. */
  readonly openWalks: readonly WalkRequest[]
}

/** The same, where it is made of its records. */
type Woken = {
  -readonly [Field in keyof ProjectState]: ProjectState[Field] extends ReadonlyMap<string, infer Value>
    ? Map<string, Value>
    : ProjectState[Field]
}

/** What updates told. */
export interface StoredTally {
  /** By `releaseName`: how many updates are under way to it; none is not kept. */
  readonly uses: Readonly<Record<string, number>>
  /** Of the rollout of now. */
  readonly counts: RolloutCounts
  /** Whether all devices were gone through since it began: until then it is not known how many are chosen. */
  readonly isChosenKnown: boolean
}

/** How far a walk has come. */
export interface StoredWalk extends WalkRequest {
  /** The last device that was looked at; empty at its beginning. */
  readonly cursor: string
  /** How many of them the rollout means. */
  readonly chosen: number
  /** Id of the rollout that there was at its beginning. */
  readonly rollout: string | null
}

/** The record of all walks: null when there are none. */
interface StoredWalks {
  readonly running: StoredWalk | null
  readonly waiting: readonly WalkRequest[]
  /** What a process that dies leaves undone of those that are through; left out for none. */
  readonly open?: readonly WalkRequest[]
}

/** Names of records: one for each release and pin, after what it is, and one for each of the rest. */
export const releasePrefix = 'release/'
export const pinPrefix = 'pin/'
export const rolloutRecord = 'rollout'
export const tallyRecord = 'tally'
export const walkRecord = 'walk'

export const noCounts: RolloutCounts = { chosen: 0, running: 0, done: 0, failed: 0, refused: 0 }
const noTally: StoredTally = { uses: {}, counts: noCounts, isChosenKnown: false }

export function emptyProject(project: string): ProjectState {
  return {
    project,
    releases: new Map(),
    shelves: { newest: new Map(), versions: new Map() },
    pins: new Map(),
    rollout: undefined,
    tally: noTally,
    walk: undefined,
    nextWalks: [],
    openWalks: [],
  }
}

/** Releases, pins and the rollout: a project that has none is not there. */
export function thingsOf({ releases, pins, rollout }: ProjectState): number {
  return releases.size + pins.size + (rollout ? 1 : 0)
}

/** Whether it has no record at all. */
export function isNothing(state: ProjectState): boolean {
  return thingsOf(state) === 0 && !isWalking(state) && state.tally === noTally
}

/** Whether its devices are being gone through, or would have to be once more if the process died. */
export function isWalking({ walk, openWalks }: Pick<ProjectState, 'walk' | 'openWalks'>): boolean {
  return walk !== undefined || openWalks.length > 0
}

export function putRecord(state: ProjectState, { name, value }: RecordChange): void {
  const woken = state as Woken
  switch (name) {
    case rolloutRecord:
      woken.rollout = (value as StoredRollout | null) ?? undefined
      return
    case tallyRecord:
      woken.tally = (value as StoredTally | null) ?? noTally
      return
    case walkRecord: {
      const walks = value as StoredWalks | null
      woken.walk = walks?.running ?? undefined
      woken.nextWalks = walks?.waiting ?? []
      woken.openWalks = walks?.open ?? []
      return
    }
  }
  if (name.startsWith(pinPrefix)) putIn(woken.pins, name.slice(pinPrefix.length), value as string | null)
  else if (name.startsWith(releasePrefix)) {
    const release = name.slice(releasePrefix.length)
    const before = woken.releases.get(release)
    putIn(woken.releases, release, value as StoredRelease | null)
    putOnShelves(woken.shelves, woken.releases, before, value as StoredRelease | null)
  } else throw new Error(`a project has no record ${name}`)
}

/** Null: it is no more. */
function putIn<Value>(map: Map<string, Value>, name: string, value: Value | null): void {
  if (value === null) map.delete(name)
  else map.set(name, value)
}
