import { putIn } from '#actors/record-actor'
import { byPrecedence, type ReleaseKey, releaseName, type StoredRelease } from '#model/release'
import type { RolloutBody, RolloutCounts, StoredRollout } from '#model/rollout'
import type { ActorAddress, CommandOf, IndexChange, NoFields, RecordChange } from '#runtime/actor'

/** The state of a project. A project without records has an actor too. */
export interface ProjectState {
  readonly project: string
  /** By `releaseName`. */
  readonly releases: ReadonlyMap<string, StoredRelease>
  readonly releaseIndex: ReleaseIndex
  /** By device: the pinned version. */
  readonly pins: ReadonlyMap<string, string>
  readonly rollout: StoredRollout | undefined
  readonly tally: StoredTally
  /** The running scan. */
  readonly scan: StoredScan | undefined
  /** The waiting scans, in order. */
  readonly nextScans: readonly ScanRequest[]
  /** Completed scans. Some of their devices still waited for their update when this list was stored. */
  readonly openScans: readonly ScanRequest[]
}

/** `ProjectState` as `putRecord` changes it. */
type MutableProject = {
  -readonly [Field in keyof ProjectState]: ProjectState[Field] extends ReadonlyMap<string, infer Value>
    ? Map<string, Value>
    : ProjectState[Field]
}

/** The counts that updates have sent, and the number of devices that a scan has selected. */
export interface StoredTally {
  /** By `releaseName`: number of running updates to it; zero is not stored. */
  readonly uses: Readonly<Record<string, number>>
  /** Counts of the current rollout. */
  readonly counts: RolloutCounts
  /** Whether all devices were scanned since the rollout began; until then the number of selected devices is unknown. */
  readonly isChosenKnown: boolean
}

/** Progress of a scan. */
export interface StoredScan extends ScanRequest {
  /** The last checked device; empty at the beginning. */
  readonly cursor: string
  /** Number of checked devices that the rollout has selected. */
  readonly chosen: number
  /** Id of the rollout at the beginning of the scan. */
  readonly rollout: string | null
}

/** The content of the record of all scans. Without scans there is no record. */
interface StoredScans {
  readonly running: StoredScan | null
  readonly waiting: readonly ScanRequest[]
  /** Completed scans with waiting devices, which a restart must repeat; absent for none. */
  readonly open?: readonly ScanRequest[]
}

// Record names. A prefix is followed by the `releaseName` of a release, or by the device of a pin.
export const releasePrefix = 'release/'
export const pinPrefix = 'pin/'
export const rolloutRecord = 'rollout'
export const tallyRecord = 'tally'
export const scanRecord = 'walk'

export const noCounts: RolloutCounts = { chosen: 0, running: 0, done: 0, failed: 0, refused: 0 }
const noTally: StoredTally = { uses: {}, counts: noCounts, isChosenKnown: false }

export function emptyProject(project: string): ProjectState {
  return {
    project,
    releases: new Map(),
    releaseIndex: { newest: new Map(), versions: new Map() },
    pins: new Map(),
    rollout: undefined,
    tally: noTally,
    scan: undefined,
    nextScans: [],
    openScans: [],
  }
}

/** Number of releases, pins and rollouts. A project without any does not exist. */
export function itemCount({ releases, pins, rollout }: ProjectState): number {
  return releases.size + pins.size + (rollout ? 1 : 0)
}

/** Whether the project has no records. */
export function isEmpty(state: ProjectState): boolean {
  return itemCount(state) === 0 && !isScanning(state) && state.tally === noTally
}

/** Whether devices are being scanned, or have to be scanned again after a restart. */
export function isScanning({ scan, openScans }: Pick<ProjectState, 'scan' | 'openScans'>): boolean {
  return scan !== undefined || openScans.length > 0
}

export function putRecord(state: ProjectState, { name, value }: RecordChange): void {
  const woken = state as MutableProject
  switch (name) {
    case rolloutRecord:
      woken.rollout = (value as StoredRollout | null) ?? undefined
      return
    case tallyRecord:
      woken.tally = (value as StoredTally | null) ?? noTally
      return
    case scanRecord: {
      const scans = value as StoredScans | null
      woken.scan = scans?.running ?? undefined
      woken.nextScans = scans?.waiting ?? []
      woken.openScans = scans?.open ?? []
      return
    }
  }
  if (name.startsWith(pinPrefix)) putIn(woken.pins, name.slice(pinPrefix.length), value)
  else if (name.startsWith(releasePrefix)) {
    const release = name.slice(releasePrefix.length)
    const before = woken.releases.get(release)
    putIn(woken.releases, release, value)
    updateReleaseIndex(woken.releaseIndex, woken.releases, before, value as StoredRelease | null)
  } else throw new Error(`a project has no record ${name}`)
}

/** One project of a tenant in the embedded update server. */
export function projectAddress(tenant: string, project: string): ActorAddress<ProjectState, ProjectCommand> {
  return { kind: 'project', tenant, id: project }
}

/** Projects with a release, a pin or a rollout: entries `<project>`. */
export const projectIndex = 'project'

/** Projects with a running scan of their devices, or with a scan that a restart must repeat: entries `<project>`. */
export const scanningIndex = 'walking'

/** A project exists from its first release, pin or rollout until the last one is deleted. */
export function projectIndexChanges(state: ProjectState, more: 1 | -1): readonly IndexChange[] {
  const [before, after] = [itemCount(state), itemCount(state) + more]
  if (before > 0 && after > 0) return []
  return [{ index: projectIndex, entry: state.project, isPresent: after > 0 }]
}

/** The releases by the keys with which updates look them up. Computed from the releases, independent of their order. */
interface ReleaseIndex {
  /** The newest release for each index and hardware, by `hardwareKey`. */
  readonly newest: Map<string, StoredRelease>
  /** By version: its releases, sorted by name. */
  readonly versions: Map<string, readonly StoredRelease[]>
}

/** `hardware` null: a release for any hardware. */
export function hardwareKey(index: number, hardware: string | null): string {
  return `${index}/${hardware ?? ''}`
}

/** Updates the index after a release was added or deleted. `releases` is the map after this change. */
function updateReleaseIndex(
  { newest, versions }: ReleaseIndex,
  releases: ReadonlyMap<string, StoredRelease>,
  before: StoredRelease | undefined,
  after: StoredRelease | null,
): void {
  const release = after ?? before
  if (!release) return
  const { firmware, index, hardware } = release
  const others = (versions.get(firmware) ?? []).filter((other) => releaseName(other) !== releaseName(release))
  const all = after ? [...others, after].sort(byName) : others
  if (all.length === 0) versions.delete(firmware)
  else versions.set(firmware, all)

  const key = hardwareKey(index, hardware)
  const first = newest.get(key)
  if (after) {
    if (!first || byAge(first, after) <= 0) newest.set(key, after)
  } else if (first === before) {
    const next = newestOf(releases.values(), key)
    if (next) newest.set(key, next)
    else newest.delete(key)
  }
}

function newestOf(releases: Iterable<StoredRelease>, key: string): StoredRelease | undefined {
  let first: StoredRelease | undefined
  for (const release of releases) {
    if (hardwareKey(release.index, release.hardware) !== key) continue
    if (!first || byAge(first, release) <= 0) first = release
  }
  return first
}

/** Newest last. Versions that differ only in their build metadata are sorted by creation time. */
function byAge(a: StoredRelease, b: StoredRelease): number {
  return byPrecedence(a.firmware, b.firmware) || a.createdAt - b.createdAt || byName(a, b)
}

function byName(a: StoredRelease, b: StoredRelease): number {
  return releaseName(a) < releaseName(b) ? -1 : 1
}

/**
 * Commands of a project. Each `author` is the resource name (CRN) of a user or a key.
 *
 * `scans_begun`: no device of a completed scan waits for its update any more. `repeat_scans`: after a restart, the
 * unfinished scans run again.
 */
export interface ProjectCommands {
  /** Sent after the image was stored. Answered with `PutReleaseAnswer`. */
  put_release: { readonly release: StoredRelease }
  delete_release: { readonly key: ReleaseKey }
  /** Answered with `PutPinAnswer`. */
  put_pin: {
    readonly device: string
    readonly firmware: string
  }
  delete_pin: { readonly device: string }
  /** Answered with `RolloutAnswer`. */
  put_rollout: {
    readonly body: RolloutBody
    /** The id of the rollout if it is new. */
    readonly id: string
    readonly author: string
  }
  delete_rollout: NoFields
  /** Answered with `RolloutAnswer`. */
  pause: { readonly author: string }
  resume: { readonly author: string }
  scan: { readonly request: ScanRequest }
  /**
   * Progress of the running scan: the last checked device, and how many of the checked devices the rollout has selected.
   */
  scan_progress: {
    readonly cursor: string
    readonly chosen: number
  }
  /** The scan is complete. */
  scan_done: {
    /** The number of selected devices. */
    readonly chosen: number
    /** No device of this scan or of an earlier one waits for its update any more. */
    readonly isBegun: boolean
  }
  scans_begun: NoFields
  repeat_scans: NoFields
  /**
   * Sent by updates, in the commit of their change. `from` null: the update was not counted before. `to` null: it is no
   * longer counted.
   */
  job_moved: {
    readonly release: ReleaseKey
    /** Id of the rollout that began the update. */
    readonly rollout: string | null
    readonly from: Stage | null
    readonly to: Stage | null
  }
}

export type ProjectCommand = CommandOf<ProjectCommands>

export interface PutReleaseAnswer {
  readonly isNew: boolean
  /** The stored release; an existing one stays unchanged. */
  readonly release: StoredRelease
}

export interface PutPinAnswer {
  readonly isNew: boolean
}

export interface RolloutAnswer {
  /** There was no rollout, or one of another firmware. */
  readonly isNew: boolean
  readonly rollout: StoredRollout
  readonly counts: RolloutCounts
}

/** A request to check the devices of a project for updates. */
export interface ScanRequest {
  readonly by: 'hook' | 'cron' | 'rollout'
  /** The devices to scan. Null: all. Stored sorted and without duplicates; empty for a cancelled scan. */
  readonly devices: readonly string[] | null
  /** The author whose permissions limit the devices; null: no limit. */
  readonly author: string | null
}

/** The stage of a device's update, as counted by the project. */
export type Stage = 'running' | 'done' | 'failed' | 'refused'
