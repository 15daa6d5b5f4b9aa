import { historyKeys } from '#history/history-keys'
import type { Checkpoint } from '#runtime/projection'
import type { Operation, Storage } from '#runtime/storage'
import { keysBelow, sortableHex } from '#store/key-space'
import { pagesOf } from '#store/pages'
import { packRecord, unpackRecord } from '#store/record-codec'

export interface TimedCheckpoint extends Checkpoint {
  /** When the last entry of each tenant was stored. */
  readonly times: ReadonlyMap<string, number>
}

/** A list of pages with the points of many series, sorted by series. */
export interface Run {
  readonly name: string
  /**
   * The sequence of the newest run in a merged run. If several runs have a point at one time, the point of the run with
   * the highest sequence counts.
   */
  readonly sequence: number
  /** 0: stored from memory. A merge of runs makes a run of the next level. */
  readonly level: number
  readonly checkpoint: TimedCheckpoint
  /** The rows of the devices that were deleted in this run. They are restored if the run is dropped. */
  readonly removed: readonly (readonly [key: string, row: Uint8Array])[]
  /** Ids below this id are never assigned again. */
  readonly nextId: number
  /** The first series of each page. */
  readonly pages: readonly number[]
}

export type StoredCheckpoint = readonly [
  epoch: string,
  positions: readonly (readonly [tenant: string, offset: number, time: number])[],
]
type StoredRun = readonly [
  sequence: number,
  level: number,
  checkpoint: StoredCheckpoint,
  removed: Run['removed'],
  nextId: number,
  pages: Run['pages'],
]

const runFormat = { name: 'run of the history', version: 1, upgrades: {} }

export function runName(sequence: number, level: number): string {
  return `${sortableHex(sequence)}-${level}`
}

export function packRun({ sequence, level, checkpoint, removed, nextId, pages }: Run): Uint8Array {
  return packRecord(runFormat, [sequence, level, storedCheckpoint(checkpoint), removed, nextId, pages])
}

export function storedCheckpoint({ epoch, offsets, times }: TimedCheckpoint): StoredCheckpoint {
  return [epoch, [...offsets].map(([tenant, offset]) => [tenant, offset, times.get(tenant) ?? 0] as const)]
}

export function checkpointOf([epoch, positions]: StoredCheckpoint): TimedCheckpoint {
  return {
    epoch,
    offsets: new Map(positions.map(([tenant, offset]) => [tenant, offset])),
    times: new Map(positions.map(([tenant, , time]) => [tenant, time])),
  }
}

function unpackRun(row: Uint8Array): Run {
  const [sequence, level, stored, removed, nextId, pages] = unpackRecord(runFormat, row) as StoredRun
  const checkpoint = checkpointOf(stored)
  return { name: runName(sequence, level), sequence, level, checkpoint, removed, nextId, pages }
}

/** All runs, ordered by their sequences. */
export async function loadRuns(storage: Storage): Promise<Run[]> {
  const runs: Run[] = []
  for await (const page of pagesOf(storage, { ...keysBelow('run'), hasValues: true })) {
    for (const { value } of page) runs.push(unpackRun(value))
  }
  return runs
}

/** The changes that delete a run. */
export function deletionOf({ name, pages }: Run): Operation[] {
  const keys = [historyKeys.run(name), ...pages.map((first) => historyKeys.page(name, first))]
  return keys.map((key) => ({ key, value: null }))
}

/** Deletes pages that belong to no run: they remain from an interrupted merge. */
export async function deleteStrayPages(storage: Storage, runs: readonly Run[]): Promise<void> {
  const names = new Set(runs.map(({ name }) => name))
  const stray: Operation[] = []
  for await (const page of pagesOf(storage, { ...keysBelow('page'), hasValues: false })) {
    for (const { key } of page) if (!names.has(key.split('/')[1] ?? '')) stray.push({ key, value: null })
  }
  if (stray.length > 0) await storage.write(stray, { sync: false })
}
