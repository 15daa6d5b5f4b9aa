import type { ProjectNotices } from '#actors/notice-bus'
import {
  isScanning,
  type ProjectCommands,
  type ProjectState,
  type ScanRequest,
  type StoredScan,
  scanningIndex,
  scanRecord,
} from '#actors/project/state'
import { tallyChanges } from '#actors/project/tally'
import { type Decisions, recordsWithoutEntry } from '#actors/record-actor'
import { boundDevicesMax } from '#model/group'
import { Problem } from '#model/problem'
import type { StoredRollout } from '#model/rollout'
import { answer, type IndexChange, type RecordChange, refuse } from '#runtime/actor'

/** Maximum number of scans that wait behind the running scan. Requests of one author for one reason are merged. */
export const waitingScansMax = 100

/** All scans of a project. */
type Scans = Pick<ProjectState, 'scan' | 'nextScans' | 'openScans'>

/** The changes to store for the scans. */
interface ScanChanges {
  readonly records: readonly RecordChange[]
  readonly indexes: readonly IndexChange[]
}

/** The result of requesting a scan. */
export interface RequestedScan extends ScanChanges {
  /** False: the scan waits behind another scan. */
  readonly isBegun: boolean
}

export function scanDecisions(notices: ProjectNotices) {
  return {
    /**
     * One scan runs at a time. Waiting requests of the same author for the same reason are merged into one request, which
     * covers the devices of all these requests. A request for a rollout that is not running is ignored: its scan would
     * select the newest release.
     */
    scan(state, { request }, { tenant }) {
      const { project, rollout, nextScans } = state
      if (request.by === 'rollout' && rollout?.state !== 'running') return answer(undefined)
      if (nextScans.length >= waitingScansMax && !nextScans.some((waiting) => isAlike(waiting, request))) {
        return refuse(new Problem('overloaded'))
      }
      const { records, indexes, isBegun } = withScan(state, request, rollout?.id ?? null)
      return recordsWithoutEntry(records, {
        indexes,
        effects: isBegun ? [() => notices.scanRequested(tenant, project)] : [],
      })
    },

    /** Ignored if no scan is running. */
    scan_progress(state, { cursor, chosen }) {
      const { scan } = state
      if (!scan) return answer(undefined)
      return recordsWithoutEntry(changesOf(state, { ...state, scan: { ...scan, cursor, chosen } }).records)
    },

    /**
     * Ends the running scan and begins the next scan. If the ended scan covered all devices for the current rollout, it
     * determines the number of selected devices.
     */
    scan_done(state, { chosen, isBegun }, { tenant }) {
      const { project, scan, nextScans, openScans, rollout, tally } = state
      if (!scan) return answer(undefined)
      const [next, ...waiting] = nextScans
      const counted = isWhole(scan) && rollout && scan.rollout === rollout.id
      const tallied = counted
        ? tallyChanges(state, { ...tally, counts: { ...tally.counts, chosen }, isChosenKnown: true })
        : undefined
      const scans = changesOf(state, {
        scan: next && newScan(next, rollout?.id ?? null),
        nextScans: waiting,
        openScans: isBegun ? [] : withOpen(openScans, scan),
      })
      return recordsWithoutEntry([...scans.records, ...(tallied?.records ?? [])], {
        indexes: scans.indexes,
        effects: [
          ...(next ? [() => notices.scanRequested(tenant, project)] : []),
          ...(tallied?.isStopped ? [() => notices.rolloutChanged(tenant, project)] : []),
        ],
      })
    },

    /** No device of a completed scan waits for its update any more. */
    scans_begun(state) {
      if (state.openScans.length === 0) return answer(undefined)
      const { records, indexes } = changesOf(state, { ...state, openScans: [] })
      return recordsWithoutEntry(records, { indexes })
    },

    /** Repeats the open scans after a restart, because only memory contained the devices that waited for their update. */
    repeat_scans(state) {
      const { openScans, rollout } = state
      if (openScans.length === 0) return answer(undefined)
      let scans: Scans = { ...state, openScans: [] }
      for (const request of openScans) {
        if (request.by === 'rollout' && rollout?.state !== 'running') continue
        scans = withScanRequest(scans, request, rollout?.id ?? null)
      }
      const { records, indexes } = changesOf(state, scans)
      return recordsWithoutEntry(records, { indexes })
    },
  } satisfies Partial<Decisions<ProjectState, ProjectCommands>>
}

/** `rollout`: id of the current rollout when the scan begins. */
export function withScan(state: ProjectState, request: ScanRequest, rollout: string | null): RequestedScan {
  return { ...changesOf(state, withScanRequest(state, request, rollout)), isBegun: !state.scan }
}

/**
 * The rollout was deleted, so it begins no more updates. If the running scan is for the rollout, the scan checks no
 * more devices.
 */
export function withoutRolloutScans(state: ProjectState): ScanChanges {
  if (!isScanning(state)) return { records: [], indexes: [] }
  const { scan } = state
  return changesOf(state, {
    scan: scan?.by === 'rollout' ? { ...scan, devices: [] } : scan,
    nextScans: notForRollouts(state.nextScans),
    openScans: notForRollouts(state.openScans),
  })
}

/**
 * Requests a scan of all devices for a rollout that was created, changed or resumed. Waiting and open scans for a
 * rollout are dropped, because this scan replaces them.
 */
export function withRolloutScan(state: ProjectState, { id, updatedBy }: StoredRollout): RequestedScan {
  const others = { ...state, nextScans: notForRollouts(state.nextScans), openScans: notForRollouts(state.openScans) }
  const scans = withScanRequest(others, { by: 'rollout', devices: null, author: updatedBy }, id)
  return { ...changesOf(state, scans), isBegun: !state.scan }
}

function withScanRequest(scans: Scans, request: ScanRequest, rollout: string | null): Scans {
  const listed = { ...request, devices: request.devices && listOf(request.devices) }
  if (!scans.scan) return { ...scans, scan: newScan(listed, rollout) }
  return { ...scans, nextScans: withRequest(scans.nextScans, listed) }
}

/**
 * Adds a completed scan to the open scans. If there are too many, the oldest scans are dropped. A cancelled scan is not
 * added.
 */
function withOpen(open: readonly ScanRequest[], { by, devices, author }: StoredScan): readonly ScanRequest[] {
  if (devices?.length === 0) return open
  return withRequest(open, { by, devices, author }).slice(-waitingScansMax)
}

function withRequest(requests: readonly ScanRequest[], request: ScanRequest): readonly ScanRequest[] {
  const place = requests.findIndex((other) => isAlike(other, request))
  return place < 0 ? [...requests, request] : requests.with(place, merged(requests[place] as ScanRequest, request))
}

function notForRollouts(requests: readonly ScanRequest[]): readonly ScanRequest[] {
  return requests.filter(({ by }) => by !== 'rollout')
}

function changesOf(before: ProjectState, after: Scans): ScanChanges {
  const { scan = null, nextScans: waiting, openScans: open } = after
  const isPresent = isScanning(after)
  const value = isPresent ? { running: scan, waiting, ...(open.length > 0 && { open }) } : null
  return {
    records: [{ name: scanRecord, value }],
    indexes: isScanning(before) === isPresent ? [] : [{ index: scanningIndex, entry: before.project, isPresent }],
  }
}

function newScan(request: ScanRequest, rollout: string | null): StoredScan {
  return { ...request, cursor: '', chosen: 0, rollout }
}

/** Whether the scan covers all devices, or all devices that the author of the rollout may update. */
function isWhole({ by, devices, author }: StoredScan): boolean {
  return devices === null && (author === null || by === 'rollout')
}

function isAlike(one: ScanRequest, other: ScanRequest): boolean {
  return one.by === other.by && one.author === other.author
}

function merged(one: ScanRequest, other: ScanRequest): ScanRequest {
  return { ...one, devices: one.devices && other.devices && listOf([...one.devices, ...other.devices]) }
}

/** Sorted, without duplicates; null (all devices) if there are too many. */
function listOf(devices: readonly string[]): readonly string[] | null {
  const names = [...new Set(devices)].sort()
  return names.length > boundDevicesMax ? null : names
}
