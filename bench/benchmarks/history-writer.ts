import { join } from 'node:path'
import { folderBytes, type TemporaryFolder, temporaryFolder } from '#bench/harness/temporary-folder'
import { answerFleetAggregate } from '#history/fleet-aggregate'
import { defaultLimits } from '#history/history-limits'
import type { HistoryAnswer, HistoryQuery } from '#history/history-query'
import { HistoryStore } from '#history/history-store'
import type { Entry } from '#model/entry'
import { propertyTypeOf } from '#model/property-type'
import type { Storage } from '#runtime/storage'
import { ChunkPacker } from '#store/chunk'
import { levelStorage } from '#store/level'
import { Shapes } from '#store/shapes'

/** Values of all properties of a device at one time. */
export interface Report {
  readonly device: number
  /** Unix ms. */
  readonly time: number
  readonly values: readonly number[]
}

const historyTenant = 'default'
const historyService = 'service'
const deviceName = (device: number) => `DEVICE-${device}`

const begin = Date.UTC(2026, 0, 1)
export const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000] as const
/** The day to which queries refer, unless they say otherwise. */
export const historyDay = { from: begin, to: begin + dayMs }

/** A query of a series of each device. */
export function seriesQuery(devices: readonly number[], more: Partial<HistoryQuery>): HistoryQuery {
  const service = { service: historyService, declared: [], propIds: undefined, path: '' }
  const services = devices.map((device) => ({ device: deviceName(device), ...service }))
  return { tenant: historyTenant, form: 'series', ...historyDay, now: historyDay.to, services, ...more }
}

/** For each hour of the day, the average over the first devices of the average of each device. */
export function averagesAcross(history: HistoryStore, devices: number): Promise<HistoryAnswer> {
  const names = Array.from({ length: devices }, (_, device) => deviceName(device)).join('\n')
  return answerFleetAggregate(history, {
    ...{ tenant: historyTenant, ...historyDay, now: historyDay.to, interval: hourMs, zone: 'UTC' },
    ...{ service: historyService, propId: 0, aggregate: 'avg', across: 'avg', devices: names },
  })
}

/** The text of an answer in pieces. @throws Error if the query was refused */
export function piecesOf(answer: HistoryAnswer) {
  if (answer === 'unknown' || 'faults' in answer) throw new Error(`a query was refused: ${JSON.stringify(answer)}`)
  return answer.pieces
}

/** Writes reports to a history of its own, as the worker thread of the server does. */
export class HistoryWriter {
  readonly history: HistoryStore
  readonly #folder: TemporaryFolder
  readonly #storage: Storage
  readonly #shape: Parameters<typeof entryOf>[0]
  #offset = 1
  #cpuMs = 0

  private constructor(
    history: HistoryStore,
    folder: TemporaryFolder,
    storage: Storage,
    shape: Parameters<typeof entryOf>[0],
  ) {
    this.history = history
    this.#folder = folder
    this.#storage = storage
    this.#shape = shape
  }

  static async open(propertiesEach: number): Promise<HistoryWriter> {
    const folder = temporaryFolder('bench-history-')
    const storage = await levelStorage({ folder: folder.path, headroomBytes: 0 }).open()
    const shapes = new Shapes(() => undefined)
    const type = propertyTypeOf('float64')
    if (!type) throw new Error('no such type')
    const properties = Array.from({ length: propertiesEach }, (_, propId) => ({ propId, type, modifier: 0 }))
    const shape = shapes.intern(historyService, properties)
    const history = await HistoryStore.open(storage, shapes, defaultLimits)
    const [base] = history.checkpoints
    if (base) await history.resume(base, 'epoch')
    return new HistoryWriter(history, folder, storage, shape)
  }

  async write(reports: readonly Report[]): Promise<void> {
    const packer = new ChunkPacker(() => {})
    const now = reports[0]?.time ?? 0
    for (const report of reports) packer.add([entryOf(this.#shape, report)])
    const chunks = [...packer.chunks(now, 0, this.#offset, (_, length) => Buffer.allocUnsafe(length))]
    this.#offset += reports.length
    await this.#timed(async () => {
      for (const chunk of chunks) await this.history.apply({ tenant: historyTenant, time: now, ...chunk }, now)
      if (this.history.isMergeDue) await this.#merge(false)
    })
  }

  /** Writes and merges everything. */
  settle(): Promise<void> {
    return this.#timed(async () => {
      await this.history.flush()
      await this.#merge(true)
    })
  }

  /**
   * Settles, closes and deletes the history. `cpuMs`: CPU time of all writes and merges. `bytes`: size on disk before.
   */
  async end(): Promise<{ readonly cpuMs: number; readonly bytes: number }> {
    await this.settle()
    await this.#storage.close()
    // On opening, LevelDB writes its log as a table. Pages that were merged take space until LevelDB compacts them.
    const storage = await levelStorage({ folder: this.#folder.path, headroomBytes: 0 }).open()
    await storage.compact()
    await storage.close()
    const bytes = await folderBytes(join(this.#folder.path, 'db'))
    await this.#folder.remove()
    return { cpuMs: this.#cpuMs, bytes }
  }

  async #merge(all: boolean): Promise<void> {
    this.history.confirm(this.history.flushed)
    await this.history.merge({ all, pause: async () => {} })
  }

  async #timed(work: () => Promise<void>): Promise<void> {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    this.#cpuMs += (user + system) / 1000
  }
}

function entryOf(shape: ReturnType<Shapes['intern']>, { device, time, values }: Report): Entry {
  return {
    kind: 'reported',
    device: deviceName(device),
    flakeAddress: device + 1,
    shape,
    at: time,
    timestamp: time,
    seq: time,
    items: values.flatMap((value, propId) => [propId, value]),
  }
}
