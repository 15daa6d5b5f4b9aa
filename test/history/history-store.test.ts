import { describe, expect, test } from 'vitest'
import { SeededRandom } from '#bench/random'
import { dayMs } from '#history/history-keys'
import { HistoryStore } from '#history/history-store'
import type { Points } from '#history/points'
import { readPage } from '#history/raw-page'
import type { TimedCheckpoint } from '#history/runs'
import type { Entry, PropertyState, RemovedProperty } from '#model/entry'
import { retentionsIn } from '#model/history-retention'
import { DeviceStatus } from '#model/meta'
import { type PropertyValue, propertyTypeOf } from '#model/property-type'
import type { Shape } from '#model/shape'
import { Shapes } from '#store/shapes'
import { HistoryModel, nameOf } from '#test/history/history-model'
import { type MemoryPlace, memoryPlace } from '#test/store/memory'
import { packChunk } from '#test/store/pack-chunk'

const tenant = 'default'
const start = 20_000 * dayMs
const devices = ['A', 'B', 'Ü']
const types = ['float', 'bool', 'uint64', 'string', 'int8-array'].map((name) => {
  const type = propertyTypeOf(name)
  if (!type) throw new Error(name)
  return type
})
const shapes = new Shapes(() => undefined)
const declared = [0, 1, 2].map((changed) =>
  shapes.intern(
    'service',
    types.map((type, place) => ({
      propId: place,
      type: place === changed ? (types[0] as (typeof types)[number]) : type,
      modifier: 0,
    })),
  ),
)

const retained = {
  '0x3': { name: 'text', history: false },
  '0x4': { name: 'list', history: { raw: '2d' } },
} as const

/** The stream of a server: chunks under epochs, of which the end can be lost. */
class Stream {
  readonly chunks: { readonly firstOffset: number; readonly entries: readonly Entry[]; readonly bytes: Uint8Array }[] =
    []
  epochs = [{ name: 'epoch 1', last: Number.POSITIVE_INFINITY }]
  last = 0
  synced = 0

  get epoch(): string {
    return this.epochs.at(-1)?.name ?? ''
  }

  add(entries: readonly Entry[], now: number): void {
    this.chunks.push({ firstOffset: this.last + 1, entries, bytes: packChunk(entries, now, 0) })
    this.last += entries.length
  }

  /** The machine dies: chunks that were not synced are lost, from one of them on. */
  cut(random: SeededRandom): void {
    while (this.last > this.synced && random.next() < 0.7) {
      const lost = this.chunks.pop()
      this.last -= lost?.entries.length ?? 0
    }
  }

  begin(): void {
    const before = this.epochs.at(-1)
    if (before) before.last = this.last
    this.epochs.push({ name: `epoch ${this.epochs.length + 1}`, last: Number.POSITIVE_INFINITY })
  }

  holds(epoch: string, offset: number): boolean {
    const known = this.epochs.find(({ name }) => name === epoch)
    return offset === 0 || (known !== undefined && offset <= Math.min(known.last, this.last))
  }
}

/** One history and its model. Each step takes a minute. */
class Run {
  readonly random: SeededRandom
  readonly stream = new Stream()
  readonly place: MemoryPlace = memoryPlace()
  now = start
  history: HistoryStore | undefined
  /** Imported points, as reports, and the offset after which each was imported. */
  readonly #imported: { readonly after: number; readonly entry: Entry }[] = []
  readonly #shapeOf = new Map<string, Shape>()

  constructor(seed: number) {
    this.random = new SeededRandom(seed)
    const schema = { name: 'Service', properties: retained }
    this.stream.add([{ kind: 'schema_set', service: 'service', at: start, isNew: true, schema }], start)
    this.stream.synced = this.stream.last
  }

  async open(): Promise<HistoryStore> {
    const storage = await this.place.open()
    const history = await HistoryStore.open(storage, shapes, {
      unstoredMax: 60,
      runsMax: 3,
      blockPointsMin: 12,
      rawMs: 30 * dayMs,
      hoursMs: 60 * dayMs,
      bytesMax: Number.POSITIVE_INFINITY,
    })
    const good = history.checkpoints.find(({ epoch, offsets }) =>
      [...offsets.values()].every((offset) => this.stream.holds(epoch, offset)),
    )
    if (!good) throw new Error('history holds entries that did not happen')
    await history.resume(good, this.stream.epoch)
    if (history.offsetOf(tenant) > 0) {
      history.retentions.replace([{ tenant, service: 'service', properties: retentionsIn({ properties: retained }) }])
    }
    this.history = history
    return history
  }

  entries(): Entry[] {
    return Array.from({ length: 1 + this.random.below(8) }, () => this.#entry())
  }

  #entry(): Entry {
    const device = this.random.pick(devices) as string
    const at = this.now
    const flakeAddress = 7
    const kind = this.random.below(30)
    if (kind === 0) return { kind: 'device_removed', device, flakeAddress, at }
    if (kind <= 2) {
      const status = this.random.pick(DeviceStatus.options) as DeviceStatus
      return { kind: 'status_changed', device, at, status, lastMessage: 0, lastConnect: 0, numConnects: 0 }
    }
    const before = this.#shapeOf.get(device)
    if (kind === 3 && before) {
      const removed = before.properties.map(({ propId, type }) => ({ propId, type: type.name, modifier: 0 }))
      return { kind: 'undeclared', device, flakeAddress, service: 'service', at, removed }
    }
    if (kind <= 5 || !before) {
      const shape = this.random.pick(declared) as Shape
      this.#shapeOf.set(device, shape)
      const removed: RemovedProperty[] = (before?.properties ?? [])
        .filter(({ type }, place) => shape.properties[place]?.type !== type)
        .map(({ propId, type }) => ({ propId, type: type.name, modifier: 0 }))
      return { kind: 'declared', device, flakeAddress, shape, at, items: this.#items(shape), removed }
    }
    const timestamp = this.random.below(4) === 0 ? this.#pastTime() : at
    return { kind: 'reported', device, flakeAddress, shape: before, at, timestamp, seq: 1, items: this.#items(before) }
  }

  /** Often one that was used before; some are older than what is kept. */
  #pastTime(): number {
    const days = this.random.below(10) === 0 ? this.random.below(35) : 0
    return Math.max(1, this.now - days * dayMs - this.random.below(100) * 60_000)
  }

  #items(shape: Shape): (number | PropertyState)[] {
    const number = this.random.below(1000) / 10
    const states: PropertyState[] = [
      number,
      number > 50,
      this.random.below(3) === 0 ? '18446744073709551615' : Math.floor(number),
      `text ${number}`,
      [1, 2, Math.floor(number)],
    ]
    return shape.properties.flatMap(({ type }, place) => {
      if (this.random.next() < 0.4) return []
      const state = this.random.below(20) === 0 ? { error: 'broken' } : states[types.indexOf(type)]
      return [place, state ?? null]
    })
  }

  async step(): Promise<void> {
    this.now += 60_000 * (1 + this.random.below(30))
    const history = this.history ?? (await this.open())
    const kind = this.random.below(20)
    if (kind < 12) this.stream.add(this.entries(), this.now)
    if (kind < 10) await this.#follow(history)
    else if (kind === 12) await history.flush()
    else if (kind < 15) await this.#merge(history, kind === 13)
    else if (kind === 15) {
      this.place.crash(this.random.below(3))
      this.stream.begin()
      this.history = undefined
    } else if (kind === 16) {
      this.place.losePower()
      this.stream.cut(this.random)
      this.stream.begin()
      this.history = undefined
    } else if (kind === 17) {
      // Killed during a merge.
      this.stream.synced = this.stream.last
      history.confirm(history.flushed)
      let left = this.random.below(3)
      const killed = new Promise<void>((resolve) => {
        const pause = () => (left-- > 0 ? Promise.resolve() : new Promise<void>(() => resolve()))
        void history.merge({ all: this.random.below(2) === 0, pause }).then(resolve)
      })
      await killed
      this.place.crash()
      this.stream.begin()
      this.history = undefined
    }
    if (kind === 18) await this.#import(history)
    if (kind === 19) await history.expire(this.now, async () => {})
    if (this.history && this.random.below(3) === 0) await this.check(this.history)
  }

  async #follow(history: HistoryStore): Promise<void> {
    for (const { firstOffset, entries, bytes } of this.stream.chunks) {
      if (firstOffset + entries.length - 1 <= history.offsetOf(tenant)) continue
      await history.apply({ tenant, firstOffset, count: entries.length, time: this.now, bytes }, this.now)
      // A chunk that came before is not added again.
      if (this.random.below(4) === 0)
        await history.apply({ tenant, firstOffset, count: entries.length, time: this.now, bytes }, this.now)
    }
  }

  async #import(history: HistoryStore): Promise<void> {
    const device = this.random.pick(devices) as string
    const shape = this.#shapeOf.get(device)
    // The server waits until history has read the schema.
    if (!shape || history.offsetOf(tenant) === 0) return
    const items = this.#items(shape).map((item) => (typeof item === 'object' ? 7 : item))
    const timestamp = this.#pastTime()
    const series = shape.properties.flatMap(({ propId, type }, place) => {
      const at = items.findIndex((item, index) => index % 2 === 0 && item === place)
      const values = at < 0 ? [] : [items[at + 1] as PropertyValue]
      const times = values.map(() => timestamp)
      const names = { tenant, device, flakeAddress: 7, service: shape.serviceIdentifier }
      return { ...names, propId, type: type.name, times, values }
    })
    await history.importPoints(series, this.now)
    this.stream.synced = this.stream.last
    const entry: Entry = { kind: 'reported', device, flakeAddress: 7, shape, at: this.now, timestamp, seq: 0, items }
    this.#imported.push({ after: history.offsetOf(tenant), entry })
  }

  async #merge(history: HistoryStore, all: boolean): Promise<void> {
    this.stream.synced = this.stream.last
    history.confirm(history.flushed)
    await history.merge({ all, pause: async () => {} })
  }

  async check(history: HistoryStore): Promise<void> {
    const model = new HistoryModel()
    const offset = history.offsetOf(tenant)
    for (const { firstOffset, entries } of this.stream.chunks) {
      for (const [place, entry] of entries.entries()) {
        this.#applyImported(model, firstOffset + place - 1)
        if (firstOffset + place <= offset) model.apply(entry, 0)
      }
    }
    this.#applyImported(model, this.stream.last)
    const days = (name: string) => (/service 3 /.test(name) ? 0 : /service 4 /.test(name) ? 2 : 20)
    const oldest = (name: string) => (days(name) === 0 ? Number.POSITIVE_INFINITY : this.now - days(name) * dayMs)
    const found = await stored(history)
    expect(Object.keys(found).filter((name) => days(name) === 0)).toEqual([])
    expect(since(found, oldest)).toEqual(since(model.points, oldest))
  }

  #applyImported(model: HistoryModel, offset: number): void {
    for (const { after, entry } of this.#imported) if (after === offset) model.apply(entry, 0)
  }
}

/** Late points may be left out if they are old; how old is another test. */
function since(points: Record<string, [number, number | string][]>, oldest: (name: string) => number) {
  const kept = Object.entries(points).map(
    ([name, list]) => [name, list.filter(([time]) => time >= oldest(name))] as const,
  )
  return Object.fromEntries(kept.filter(([, list]) => list.length > 0))
}

async function stored(history: HistoryStore): Promise<Record<string, [number, number | string][]>> {
  const found: Record<string, [number, number | string][]> = {}
  const range = {
    from: start - 36 * dayMs,
    to: start + 4 * dayMs,
    limit: 1e5,
    charactersMax: 1e6,
    isDescending: false,
  }
  for (const name of devices) {
    const series = [...(history.find(tenant, name)?.series() ?? [])]
    const ids = series.flatMap(({ id }) => [id, id + 1]).sort((a, b) => a - b)
    const { points } = await readPage(history, history.freshOf(ids), range, () => range.from)
    for (const { id, service, propId, type } of series) {
      const text = nameOf(name, service, propId, type)
      add(found, text, points.get(id))
      add(found, `${text} marks`, points.get(id + 1))
    }
  }
  return found
}

function add(found: Record<string, [number, number | string][]>, name: string, points: Points | undefined): void {
  if (!points || points.count === 0) return
  found[name] = Array.from({ length: points.count }, (_, index) => [
    points.times[index] as number,
    points.texts.get(index) ?? (points.values[index] as number),
  ])
}

const seeds = Number(process.env.HISTORY_SEEDS ?? 4)

describe('history holds exactly the points of the stream, with late and repeated times, kills, lost ends, and imports', () => {
  test.each(Array.from({ length: seeds }, (_, index) => index + 1))('with seed %i', async (seed) => {
    const run = new Run(seed)
    for (let step = 0; step < 120; step++) await run.step()
  })
})

test('a device that was deleted and created again by skipped entries has none of the old history, also after a restart', async () => {
  const place = memoryPlace()
  const open = async () => {
    const history = await HistoryStore.open(await place.open(), shapes)
    await history.resume(history.checkpoints[0] as TimedCheckpoint, 'epoch 1')
    return history
  }
  const [shape] = declared as [Shape]
  let history = await open()
  const report = async (firstOffset: number, device: string, flakeAddress: number, timestamp: number) => {
    const items = [0, firstOffset]
    const entry: Entry = { kind: 'reported', device, flakeAddress, shape, at: start, timestamp, seq: 1, items }
    const chunk = { tenant, firstOffset, count: 1, time: start, bytes: packChunk([entry], start, 0) }
    await history.apply(chunk, start)
  }
  await report(1, 'A', 1, start)
  await report(2, 'B', 2, start)
  await history.flush()
  place.crash()
  history = await open()
  await history.skip(tenant, 9, start)
  await report(10, 'A', 3, start + 1)
  await report(11, 'B', 2, start + 1)
  const expected = {
    [nameOf('A', 'service', 0, 'float')]: [[start + 1, 10]],
    [nameOf('B', 'service', 0, 'float')]: [
      [start, 2],
      [start + 1, 11],
    ],
  }
  expect(await stored(history)).toEqual(expected)
  await history.flush()
  place.crash()
  history = await open()
  expect(await stored(history)).toEqual(expected)
  // Values of the device that was deleted came too late.
  const series = { tenant, device: 'A', service: 'service', propId: 0, type: 'float', times: [start], values: [7] }
  await history.importPoints([{ ...series, flakeAddress: 1 }], start)
  expect(await stored(history)).toEqual(expected)
})
