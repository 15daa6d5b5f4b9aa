// Answers: what it costs to keep every value. Ingest with history on and off at full speed, with one dashboard; and in one process without a server, the CPU and the bytes on disk of each point, merges included, for a mix of 40 % values with one decimal, 20 % counters, 20 % switches, 10 % two decimals, 10 % noise of single precision. Does not count: queries.

import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Benchmark, Case, Figures, Round } from '#bench/harness/benchmark'
import { costsOf, formsOf, latenciesOf } from '#bench/harness/load-figures'
import { standardLoad, timesOf, underLoad } from '#bench/harness/running-load'
import { ours } from '#bench/harness/servers'
import { SeededRandom } from '#bench/random'
import { defaultLimits } from '#history/history-limits'
import { HistoryStore } from '#history/history-store'
import type { Entry } from '#model/entry'
import { propertyTypeOf } from '#model/property-type'
import { ChunkPacker } from '#store/chunk'
import { levelPlace } from '#store/level'
import { Shapes } from '#store/shapes'

const starts = {
  off: ours({ DURABILITY: 'process', HISTORY: 'off' }),
  on: ours({ DURABILITY: 'process', HISTORY: 'on' }),
} as const

function ingestCase(name: string, changes: number): Case {
  return {
    name,
    baseline: 'off',
    variants: Object.entries(starts).map(([variant, start]) => ({
      name: variant,
      async measure(round) {
        const size = round.isQuick ? { devices: standardLoad.devices / 10, window: 8 } : {}
        const load = { ...standardLoad, ...size, changes }
        const result = await underLoad(start, load, ({ run }) => run(timesOf(round, 3_000, 15_000)))
        return { ...costsOf(result), ...latenciesOf(result) }
      },
    })),
  }
}

const propertiesEach = 10
const periodMs = 10_000
const jitterMs = 50
const begin = Date.UTC(2026, 0, 1)

/** Each value from the one before. */
const kinds: readonly ((before: number, random: SeededRandom) => number)[] = [
  ...Array.from({ length: 4 }, () => (before: number, random: SeededRandom) => before + (random.below(7) - 3) / 10),
  ...Array.from({ length: 2 }, () => (before: number, random: SeededRandom) => before + random.below(20)),
  ...Array.from(
    { length: 2 },
    () => (before: number, random: SeededRandom) => (random.below(20) ? before : random.below(3)),
  ),
  (before, random) => before + (random.below(201) - 100) / 100,
  (_, random) => Math.fround(random.between(0, 100)),
]

async function stored(devices: number, isExact: boolean, round: Round): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'history-'))
  const storage = await levelPlace({ folder, headroomBytes: 0 }).open()
  const shapes = new Shapes(() => undefined)
  const type = propertyTypeOf('float64')
  if (!type) throw new Error('no such type')
  const properties = Array.from({ length: propertiesEach }, (_, propId) => ({ propId, type, modifier: 0 }))
  const shape = shapes.intern('service', properties)
  const history = await HistoryStore.open(storage, shapes, defaultLimits)
  const [base] = history.checkpoints
  if (base) await history.resume(base, 'epoch')
  const random = new SeededRandom(1)
  const values = Float64Array.from({ length: devices * propertiesEach }, () => random.below(100))
  const frames = Math.ceil((round.isQuick ? 200_000 : 5_000_000) / (devices * propertiesEach))
  let offset = 1
  let cpuMs = 0
  const timed = async (work: () => Promise<unknown>) => {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    cpuMs += (user + system) / 1000
  }
  const merge = (all: boolean) =>
    timed(async () => {
      history.confirm(history.flushed)
      await history.merge({ all, pause: async () => {} })
    })
  for (let frame = 0; frame < frames; frame++) {
    const packer = new ChunkPacker(() => {})
    for (let device = 0; device < devices; device++) {
      const items = properties.flatMap((_, place) => {
        const at = device * propertiesEach + place
        const next = kinds[place]?.(values[at] as number, random) ?? 0
        values[at] = Math.fround(next) === next ? next : Math.round(next * 100) / 100
        return [place, values[at] as number]
      })
      const time = begin + frame * periodMs + (isExact ? 0 : random.below(2 * jitterMs))
      const entry: Entry = {
        kind: 'reported',
        device: `DEVICE-${device}`,
        flakeAddress: device + 1,
        shape,
        at: time,
        timestamp: time,
        seq: frame,
        items,
      }
      packer.add([entry])
    }
    const chunks = [...packer.chunks(begin, 0, offset, (_, length) => Buffer.allocUnsafe(length))]
    offset += devices
    await timed(async () => {
      for (const chunk of chunks) await history.apply({ tenant: 'default', time: begin, ...chunk }, begin)
    })
    if (history.isMergeDue) await merge(false)
  }
  await timed(() => history.flush())
  await merge(true)
  await storage.close()
  // LevelDB writes its last log as a table when it opens.
  await (await levelPlace({ folder, headroomBytes: 0 }).open()).close()
  const bytes = await sizeOf(join(folder, 'db'))
  await rm(folder, { recursive: true })
  const points = frames * devices * propertiesEach
  return { cpuPerPoint: (cpuMs / points) * 1000, bytesPerPoint: bytes / points }
}

async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder)
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

const ones = 'ingest, frames of 1 change'
const tens = 'ingest, frames of 10 changes'
const store: Case = {
  name: 'storing',
  variants: [
    { name: '10 000 series, exact times', measure: (round) => stored(1_000, true, round) },
    { name: '10 000 series, times with jitter', measure: (round) => stored(1_000, false, round) },
  ],
}

export const history: Benchmark = {
  rounds: 3,
  figures: {
    ...formsOf(...(['changesPerSecond', 'serverCpuPerChange', 'serverCpu', 'loadCpu', 'ackP99', 'eventP99'] as const)),
    cpuPerPoint: { title: 'CPU, µs/point', digits: 2 },
    bytesPerPoint: { title: 'bytes/point on disk', digits: 2 },
  },
  cases: [ingestCase(ones, 1), ingestCase(tens, 10), store],
  targets: [
    ...[ones, tens].map((name) => ({
      case: name,
      variant: 'on',
      figure: 'changesPerSecond',
      isRatio: true,
      atLeast: 0.9,
    })),
    ...store.variants.map(({ name }) => ({ case: store.name, variant: name, figure: 'cpuPerPoint', atMost: 0.35 })),
    { case: store.name, variant: '10 000 series, exact times', figure: 'bytesPerPoint', atMost: 1.2 },
    { case: store.name, variant: '10 000 series, times with jitter', figure: 'bytesPerPoint', atMost: 2.5 },
  ],
}
