import { join } from 'node:path'
import { folderBytes, temporaryFolder } from '#bench/harness/temporary-folder'
import { answerFleetAggregate } from '#history/fleet-aggregate'
import { defaultLimits } from '#history/history-limits'
import type { HistoryAnswer, HistoryQuery } from '#history/history-query'
import { HistoryStore } from '#history/history-store'
import type { Entry } from '#model/entry'
import { propertyTypeOf } from '#model/property-type'
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

export type HistoryWriter = Awaited<ReturnType<typeof openHistory>>

/** Opens a new history, and writes reports to it as the worker thread of the server does. */
export async function openHistory(propertiesEach: number) {
  const folder = temporaryFolder('bench-history-')
  const open = () => levelStorage({ folder: folder.path, headroomBytes: 0 }).open()
  const storage = await open()
  const shapes = new Shapes(() => undefined)
  const type = propertyTypeOf('float64')
  if (!type) throw new Error('no such type')
  const properties = Array.from({ length: propertiesEach }, (_, propId) => ({ propId, type, modifier: 0 }))
  const shape = shapes.intern(historyService, properties)
  const history = await HistoryStore.open(storage, shapes, defaultLimits)
  const [base] = history.checkpoints
  if (base) await history.resume(base, 'epoch')
  let offset = 1
  let cpuMs = 0

  async function merge(all: boolean): Promise<void> {
    history.confirm(history.flushed)
    await history.merge({ all, pause: async () => {} })
  }

  async function timed(work: () => Promise<void>): Promise<void> {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    cpuMs += (user + system) / 1000
  }

  /** Writes and merges everything. */
  const settle = () =>
    timed(async () => {
      await history.flush()
      await merge(true)
    })

  return {
    history,
    settle,

    async write(reports: readonly Report[]): Promise<void> {
      const packer = new ChunkPacker(() => {})
      const now = reports[0]?.time ?? 0
      for (const report of reports) packer.add([entryOf(shape, report)])
      const chunks = [...packer.chunks(now, 0, offset, (_, length) => Buffer.allocUnsafe(length))]
      offset += reports.length
      await timed(async () => {
        for (const chunk of chunks) await history.apply({ tenant: historyTenant, time: now, ...chunk }, now)
        if (history.isMergeDue) await merge(false)
      })
    },

    /** Settles, closes and deletes the history. `cpuMs`: CPU time of all writes and merges. `bytes`: size on disk before. */
    async end(): Promise<{ readonly cpuMs: number; readonly bytes: number }> {
      await settle()
      await storage.close()
      // On opening, LevelDB writes its log as a table. Pages that were merged take space until LevelDB compacts them.
      const compacted = await open()
      await compacted.compact()
      await compacted.close()
      const bytes = await folderBytes(join(folder.path, 'db'))
      await folder.remove()
      return { cpuMs, bytes }
    },
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
