import type { Pieces } from '#history/blocks'
import { addImported, type ImportedSeries, type WalkTarget, walkChunk } from '#history/chunk-walk'
import { expireAll, limitDiskBytes, loadCut } from '#history/expiry'
import { deleteGaps, gapRow } from '#history/gaps'
import { historyKeys } from '#history/history-keys'
import { mergeRuns } from '#history/merge'
import { Columns } from '#history/points'
import { defaultLimits, type HistoryLimits, Retentions } from '#history/retention'
import {
  checkpointOf,
  deleteStrayPages,
  deletionOf,
  loadRuns,
  PageWriter,
  packRun,
  type Run,
  readFresh,
  runName,
  type StoredCheckpoint,
  storedCheckpoint,
  type TimedCheckpoint,
} from '#history/runs'
import { idsIn, type SeriesOfDevice, SeriesTable } from '#history/series-table'
import type { StreamChunk } from '#runtime/projection'
import type { Operation, Storage } from '#runtime/storage'
import type { ShapesById } from '#store/chunk'
import { keysBelow, numberOf } from '#store/key-space'
import { pagesOf } from '#store/pages'
import { packRecord, unpackRecord } from '#store/record-codec'

/** Points are stored earlier if their texts have more characters, because the texts take memory. */
const unstoredCharactersMax = 8 * 1024 * 1024

const keySpace = { name: 'key space of the history', version: 2, upgrades: {} }
const baseFormat = { name: 'base of the history', version: 1, upgrades: {} }
const mergedFormat = { name: 'last merge of the history', version: 1, upgrades: {} }
const deadFormat = { name: 'deleted series of the history', version: 1, upgrades: {} }

/**
 * The points of all series. They are collected in columns in memory, and stored as a *run*, together with the
 * checkpoint, in one batch. Points that were not stored when the process ended are read from the stream again.
 *
 * Runs of one level are merged into one run of the next level. In a merge, a series with enough points becomes *blocks*
 * of one day, with summaries of its hours; so there are few rows, however often devices report. A merge deletes no run
 * before its end, and is repeated if it was interrupted. Points of one series and time replace each other by the
 * sequences of runs and blocks.
 *
 * A run may contain entries that the stream loses afterwards, when the machine dies. So a run is merged only after
 * `confirm`, and until then `resume` can leave it out.
 */
export class HistoryStore {
  readonly storage: Storage
  /** Long queries call `pause` from time to time, so that chunks and other queries have their turn. */
  readonly pause: () => Promise<void>
  readonly #shapes: ShapesById
  readonly #limits: HistoryLimits
  #table = new SeriesTable()
  readonly #columns: Columns
  readonly retentions: Retentions
  /** Ordered by their sequences. */
  #runs: readonly Run[] = []
  #base: TimedCheckpoint = checkpointOf(['', []])
  #epoch = ''
  #offsets = new Map<string, number>()
  #times = new Map<string, number>()
  #sequence = 0
  #confirmed = 0
  #removed: [key: string, row: Uint8Array][] = []
  /** Series of deleted devices whose rows still exist, with the sequence of the run that deletes them. */
  readonly #dead = new Map<number, number>()
  #merging: Promise<void> | undefined
  /** The numbers of stored points and of merges. */
  readonly counts = { stored: 0, merges: 0 }

  private constructor(storage: Storage, shapes: ShapesById, limits: HistoryLimits, pause: () => Promise<void>) {
    this.storage = storage
    this.pause = pause
    this.#shapes = shapes
    this.#limits = limits
    this.#columns = new Columns(limits.unstoredMax)
    this.retentions = new Retentions(limits)
  }

  static async open(
    storage: Storage,
    shapes: ShapesById,
    limits: HistoryLimits = defaultLimits,
    pause = async () => {},
  ): Promise<HistoryStore> {
    const history = new HistoryStore(storage, shapes, limits, pause)
    await history.#load()
    return history
  }

  async #load(): Promise<void> {
    const format = this.storage.get(historyKeys.format)
    if (format) unpackRecord(keySpace, format)
    else await this.storage.write([{ key: historyKeys.format, value: packRecord(keySpace, null) }], { sync: true })
    this.#runs = await loadRuns(this.storage)
    this.retentions.cut = loadCut(this.storage)
    const base = this.storage.get(historyKeys.base)
    if (!base) return
    const [sequence, checkpoint, nextId] = unpackRecord(baseFormat, base) as StoredBase
    this.#base = checkpointOf(checkpoint)
    this.#sequence = sequence
    this.#table.nextId = nextId
  }

  /** The checkpoints from which history can continue, newest first. All runs up to the last checkpoint are merged. */
  get checkpoints(): readonly TimedCheckpoint[] {
    const fresh = this.#runs.filter(({ level }) => level === 0).map(({ checkpoint }) => checkpoint)
    return [...fresh.reverse(), this.#base]
  }

  /** Continues from one of the checkpoints, without later runs. Devices that these runs deleted exist again. */
  async resume(checkpoint: TimedCheckpoint, epoch: string): Promise<void> {
    const last = this.#runs.findLastIndex((run) => run.checkpoint === checkpoint)
    const isKept = (run: Run, place: number) => place <= last || run.level > 0
    const dropped = this.#runs.filter((run, place) => !isKept(run, place))
    const operations: Operation[] = []
    // Newest first, because the row from the oldest run counts if several runs deleted a device.
    for (const run of dropped.toReversed()) {
      operations.push(...deletionOf(run))
      for (const [key, value] of run.removed) operations.push({ key, value }, ...revivalOf(value))
    }
    for (const run of this.#runs) {
      this.#sequence = Math.max(this.#sequence, run.sequence)
      this.#table.nextId = Math.max(this.#table.nextId, run.nextId)
    }
    if (operations.length > 0) await this.storage.write(operations, { sync: false })
    this.#runs = this.#runs.filter(isKept)
    const { nextId } = this.#table
    this.#table = await SeriesTable.load(this.storage)
    this.#table.nextId = Math.max(this.#table.nextId, nextId)
    this.#offsets = new Map(checkpoint.offsets)
    this.#times = new Map(checkpoint.times)
    this.#epoch = epoch
    this.#dead.clear()
    for await (const page of pagesOf(this.storage, { ...keysBelow('dead'), hasValues: true }))
      for (const { key, value } of page) this.#dead.set(numberOf(key), unpackRecord(deadFormat, value) as number)
    await deleteStrayPages(this.storage, this.#runs)
    // Stores the checkpoint with the new epoch, because the main store forgets the old epoch after many starts.
    if (checkpoint.epoch !== epoch) await this.flush()
  }

  /** The last offset of a tenant that is in history. */
  offsetOf(tenant: string): number {
    return this.#offsets.get(tenant) ?? 0
  }

  get unstored(): number {
    return this.#columns.count
  }

  /**
   * Adds a chunk, and skips entries that are in history already. Methods that change something must be called one after
   * the other.
   */
  async apply(chunk: StreamChunk, now: number): Promise<void> {
    const from = this.offsetOf(chunk.tenant) + 1
    walkChunk(chunk, from, this.#shapes, this.#targetAt(now))
    this.#offsets.set(chunk.tenant, Math.max(from - 1, chunk.firstOffset + chunk.count - 1))
    this.#times.set(chunk.tenant, chunk.time)
    if (this.#isFull) await this.flush()
  }

  #targetAt(now: number): WalkTarget {
    return {
      table: this.#table,
      columns: this.#columns,
      retentions: this.retentions,
      now,
      removed: (device) => this.#remove(device),
    }
  }

  get #isFull(): boolean {
    return this.#columns.count >= this.#limits.unstoredMax || this.#columns.textCharacters > unstoredCharactersMax
  }

  /**
   * Adds points that are not in the stream. They replace earlier points of the same times. Resolves when they are on
   * the disk, with the number of points that were left out because they are too old.
   */
  async importPoints(list: readonly ImportedSeries[], now: number): Promise<number> {
    const target = this.#targetAt(now)
    let tooOld = 0
    for (const series of list) {
      tooOld += addImported(series, target)
      if (this.#isFull) await this.flush()
    }
    await this.flush({ sync: true })
    return tooOld
  }

  /** Skips entries that are lost, up to this offset. `to`: when the first entry after them was stored. */
  async skip(tenant: string, offset: number, to: number): Promise<void> {
    const from = this.#times.get(tenant) ?? 0
    await this.flush()
    this.#offsets.set(tenant, offset)
    await this.storage.write([gapRow(tenant, { from, to })], { sync: false })
  }

  /** Deletes everything about a tenant. Its entries up to this offset will not be applied. */
  async removeTenant(tenant: string, offset: number): Promise<void> {
    this.#offsets.set(tenant, offset)
    this.#times.delete(tenant)
    this.retentions.deleteTenant(tenant)
    for (const device of [...this.#table.devicesOf(tenant)]) this.#remove(device)
    await deleteGaps(this.storage, tenant)
    await this.flush()
  }

  /** Stores the points in memory, with the checkpoint, in one batch. */
  async flush({ sync } = { sync: false }): Promise<void> {
    const sequence = ++this.#sequence
    const name = runName(sequence, 0)
    const pages = new PageWriter(name)
    this.#columns.visitSeries((series, points) => {
      if (!this.#table.isAlive(series)) return
      points.settle()
      pages.add(series, points)
    })
    pages.end()
    const run: Run = {
      name,
      sequence,
      level: 0,
      checkpoint: { epoch: this.#epoch, offsets: new Map(this.#offsets), times: new Map(this.#times) },
      removed: this.#removed,
      nextId: this.#table.nextId,
      pages: pages.firsts,
    }
    const dead = [...this.#dead]
      .filter(([, since]) => since === sequence)
      .map(([series]) => ({ key: historyKeys.dead(series), value: packRecord(deadFormat, sequence) }))
    await this.storage.write(
      [...pages.pages, { key: historyKeys.run(name), value: packRun(run) }, ...this.#table.changes(), ...dead],
      { sync },
    )
    this.counts.stored += this.#columns.count
    this.#removed = []
    this.#columns.clear()
    this.#runs = [...this.#runs, run]
  }

  /** The sequence of the newest run. Pass it to `confirm` when the entries of that run are durable in the streams. */
  get flushed(): number {
    return this.#sequence
  }

  confirm(sequence: number): void {
    this.#confirmed = Math.max(this.#confirmed, sequence)
  }

  /** The confirmed runs to be merged now: enough of one level, or all of them. */
  #due(all: boolean): readonly Run[] {
    const confirmed = this.#runs.filter(({ sequence }) => sequence <= this.#confirmed)
    return all ? confirmed : this.#fullLevel(confirmed)
  }

  /** Whether there are enough runs to be merged, confirmed or not, and no merge is running. */
  get isMergeDue(): boolean {
    return this.#merging === undefined && this.#fullLevel(this.#runs).length > 0
  }

  #fullLevel(runs: readonly Run[]): readonly Run[] {
    for (const { level } of runs) {
      const equal = runs.filter((run) => run.level === level)
      if (equal.length >= this.#limits.runsMax) return equal
    }
    return []
  }

  /** Merges confirmed runs, if there are enough. With `all`, everything confirmed goes into blocks. */
  merge(options: { readonly all?: boolean; readonly pause: () => Promise<void> }): Promise<void> {
    const { all = false, pause } = options
    if (this.#merging && !all) return this.#merging
    const before = this.#merging ?? Promise.resolve()
    const merging = before
      .then(() => this.#merge(all, pause))
      .finally(() => {
        if (this.#merging === merging) this.#merging = undefined
      })
    this.#merging = merging
    return merging
  }

  async #merge(all: boolean, pause: () => Promise<void>): Promise<void> {
    for (;;) {
      const runs = this.#due(all)
      if (runs.length === 0) return
      const made = await mergeRuns({
        storage: this.storage,
        runs,
        otherRuns: this.#runs.filter((run) => !runs.includes(run)),
        blockPointsMin: all ? 0 : this.#limits.blockPointsMin,
        isNeeded: (series) => this.#table.isAlive(series) || (this.#dead.get(series) ?? 0) > this.#confirmed,
        pause,
      })
      await this.#replace(runs, made)
      this.counts.merges++
      if (all) break
    }
    await this.#deleteDead()
  }

  /** When everything was merged for the last time. */
  get mergedAllAt(): number | undefined {
    const row = this.storage.get(historyKeys.merged)
    return row && (unpackRecord(mergedFormat, row) as number)
  }

  async setMergedAllAt(now: number): Promise<void> {
    await this.storage.write([{ key: historyKeys.merged, value: packRecord(mergedFormat, now) }], { sync: false })
  }

  /**
   * Deletes expired data, and then the oldest data if history is still too large. `isThorough`: frees the space at
   * once.
   */
  async expire(now: number, pause: () => Promise<void>, isThorough = false): Promise<void> {
    const expiry = { storage: this.storage, table: this.#table, retentions: this.retentions, now, pause }
    await expireAll(expiry, isThorough)
    if (await this.isTooLarge()) await limitDiskBytes(this.#limits.bytesMax, expiry)
  }

  async isTooLarge(): Promise<boolean> {
    const { bytesMax } = this.#limits
    return Number.isFinite(bytesMax) && (await this.storage.diskBytes()) > bytesMax
  }

  async #replace(old: readonly Run[], made: Run | undefined): Promise<void> {
    const kept = this.#runs.filter((run) => !old.includes(run))
    this.#runs = (made ? [...kept, made] : kept).toSorted((a, b) => a.sequence - b.sequence)
    const operations = old.flatMap(deletionOf)
    if (made) operations.push({ key: historyKeys.run(made.name), value: packRun(made) })
    const newest = old.at(-1) as Run
    if (old.some(({ level }) => level === 0)) {
      this.#base = newest.checkpoint
      const base: StoredBase = [newest.sequence, storedCheckpoint(newest.checkpoint), newest.nextId]
      operations.push({ key: historyKeys.base, value: packRecord(baseFormat, base) })
    }
    await this.storage.write(operations, { sync: false })
  }

  /** Deletes blocks and summaries of deleted devices. The next merge leaves out their points in runs. */
  async #deleteDead(): Promise<void> {
    for (const [series, sequence] of this.#dead) {
      if (sequence > this.#confirmed) continue
      const operations: Operation[] = [{ key: historyKeys.dead(series), value: null }]
      for (const prefix of ['block', 'sum']) {
        const range = keysBelow(`${prefix}/${historyKeys.numberText(series)}`)
        for await (const page of pagesOf(this.storage, { ...range, hasValues: false }))
          for (const row of page) operations.push({ key: row.key, value: null })
      }
      await this.storage.write(operations, { sync: false })
      this.#dead.delete(series)
    }
  }

  #remove(device: SeriesOfDevice): void {
    const key = historyKeys.device(device.tenant, device.name)
    const row = this.storage.get(key)
    if (row) this.#removed.push([key, row])
    for (const id of this.#table.remove(device)) this.#dead.set(id, this.#sequence + 1)
  }

  find(tenant: string, device: string): SeriesOfDevice | undefined {
    return this.#table.find(tenant, device)
  }

  /** The points of some series that are not in blocks yet. The ids of the series are sorted. */
  freshOf(series: readonly number[]): Pieces {
    return readFresh(this.storage, this.#runs, this.#columns, series)
  }
}

/** The changes that revert the deletion of the series in the row of a device. */
function revivalOf(row: Uint8Array): Operation[] {
  return idsIn(row).flatMap((id) => [id, id + 1].map((each) => ({ key: historyKeys.dead(each), value: null })))
}

type StoredBase = readonly [sequence: number, checkpoint: StoredCheckpoint, nextId: number]
