import { SeededRandom } from '#bench/random'
import { answerFleetAggregate } from '#history/fleet-aggregate'
import { dayMs, hourMs } from '#history/history-keys'
import type { FleetAggregateQuery, HistoryQuery, QueriedService } from '#history/history-query'
import { HistoryStore } from '#history/history-store'
import { answerQuery } from '#history/query'
import type { AggregateName } from '#model/aggregate'
import type { Reported } from '#model/entry'
import { propertyTypeOf } from '#model/property-type'
import type { StreamChunk } from '#runtime/projection'
import { Shapes } from '#store/shapes'
import { memoryStorage } from '#test/store/memory'
import { packChunk } from '#test/store/pack-chunk'

export const tenant = 'default'
export const device = 'D'
export const service = 'service'
export const start = 20_000 * dayMs
export const shapes = new Shapes(() => undefined)
const properties = ['float', 'bool', 'string'].map((name, propId) => ({
  propId,
  type: propertyTypeOf(name) as NonNullable<ReturnType<typeof propertyTypeOf>>,
  modifier: 0,
}))
const shape = shapes.intern(service, properties)
const declared = properties.map(({ propId, type }) => ({ propId, type: type.name }))

/** A chunk with one report of a device with a number, a switch and a text. */
export function chunkOf(
  firstOffset: number,
  { at, ...more }: Partial<Reported> & Pick<Reported, 'at' | 'items'>,
): StreamChunk {
  const defaults = { kind: 'reported', device, flakeAddress: 1, shape, seq: 1, timestamp: at } as const
  return { tenant, firstOffset, count: 1, time: at, bytes: packChunk([{ ...defaults, at, ...more }], at, 0) }
}

export function bucketsOf(interval: number, aggregates?: readonly AggregateName[], zone = 'UTC') {
  return { interval, zone, aggregates }
}

interface Series {
  readonly time: readonly number[]
  readonly value: readonly unknown[]
  readonly marks: readonly { readonly time: number }[]
  readonly [aggregate: string]: readonly unknown[]
}
interface Span {
  readonly from: number
  readonly to: number
}
interface Answer extends Span {
  readonly interval: number
  readonly tz: string
  readonly series: readonly Series[]
}

type Question = Partial<HistoryQuery & Pick<QueriedService, 'propIds'>>

/** A history in which some points are in blocks, some in runs, and some in memory. */
export class QueryFixture {
  readonly random: SeededRandom
  readonly points = new Map<number, number>()
  readonly marks = new Set<number>()
  readonly store: HistoryStore
  #offset = 0
  now = start

  private constructor(seed: number, store: HistoryStore) {
    this.random = new SeededRandom(seed)
    this.store = store
  }

  static async make(seed: number, bytesMax = Number.POSITIVE_INFINITY): Promise<QueryFixture> {
    const keep = { rawMs: 300 * dayMs, hoursMs: 700 * dayMs, bytesMax }
    const limits = { unstoredMax: 1_000, runsMax: 3, blockPointsMin: 20, ...keep }
    const store = await HistoryStore.open(await memoryStorage().open(), shapes, limits)
    const [base] = store.checkpoints
    if (!base) throw new Error('no checkpoint')
    await store.resume(base, 'epoch')
    return new QueryFixture(seed, store)
  }

  async fill(): Promise<void> {
    for (let step = 0; step < 60; step++) {
      this.now += Math.floor(this.random.next() ** 4 * 9 * hourMs) + 60_000
      const kind = this.random.below(20)
      if (kind < 15) await this.report(this.now)
      else if (kind === 15) await this.report(Math.max(start, this.now - this.random.below(3 * dayMs)))
      else if (kind === 16)
        await this.report([...this.points.keys(), this.now][this.random.below(this.points.size + 1)])
      else if (kind === 17) {
        this.marks.add(this.now)
        await this.apply([0, { error: 'broken' }])
      } else await this.store.flush()
      if (this.random.below(10) === 0) await this.mergeConfirmed(this.random.below(2) === 0)
    }
    this.now += hourMs
  }

  async report(timestamp = this.now, value = this.random.below(100) / 10): Promise<void> {
    this.points.set(timestamp, value)
    await this.apply([0, value, 1, value > 5, 2, `text ${value}`], timestamp)
  }

  async reportEachHour(hours: number): Promise<void> {
    for (let hour = 0; hour < hours; hour++) {
      this.now = start + hour * hourMs
      await this.report()
    }
  }

  /** Adds a report of these items. */
  async apply(items: Reported['items'], timestamp = this.now, name = device): Promise<void> {
    const sender = { device: name, flakeAddress: name.charCodeAt(0) }
    await this.store.apply(chunkOf(++this.#offset, { at: this.now, timestamp, items, ...sender }), this.now)
  }

  /** The texts of all pages of an answer. */
  async *texts(part: Question): AsyncGenerator<string> {
    for (let span: Partial<Span> | undefined = {}; span; ) {
      const answer = await this.try({ ...part, ...span })
      if (answer === 'unknown' || 'faults' in answer) throw new Error(JSON.stringify(answer))
      yield Buffer.concat(answer.pieces).toString()
      span = answer.next
    }
  }

  async exported(part: Question): Promise<string> {
    let exported = ''
    for await (const text of this.texts(part)) exported += text
    return exported
  }

  async *pages(part: Question): AsyncGenerator<Answer> {
    for await (const text of this.texts(part)) yield JSON.parse(text)
  }

  async ask(part: Question): Promise<Answer> {
    for await (const page of this.pages(part)) return page
    throw new Error('no page')
  }

  /** The series of the number, and the whole answer. */
  async one(part: Question): Promise<readonly [Series, Answer]> {
    const answer = await this.ask({ propIds: [0], ...part })
    return [answer.series[0] as Series, answer]
  }

  try({ propIds, ...part }: Question) {
    const { now } = this
    const services = [{ device, service, declared, propIds, path: 'properties' }]
    return answerQuery(this.store, { tenant, services, form: 'service', from: start, to: now, now, ...part })
  }

  async across(
    part: Pick<FleetAggregateQuery, 'devices' | 'aggregate' | 'across'> & Partial<FleetAggregateQuery>,
  ): Promise<unknown> {
    const { now } = this
    const query = { tenant, service, propId: 0, interval: hourMs, zone: 'UTC', from: start, to: now, now }
    const answer = await answerFleetAggregate(this.store, { ...query, ...part })
    return answer !== 'unknown' && 'pieces' in answer ? JSON.parse(Buffer.concat(answer.pieces).toString()) : answer
  }

  async expire(now: number): Promise<void> {
    await this.store.expire(now, async () => {})
  }

  async mergeAll(): Promise<void> {
    await this.store.flush()
    await this.mergeConfirmed(true)
  }

  async mergeConfirmed(all: boolean): Promise<void> {
    this.store.confirm(this.store.flushed)
    await this.store.merge({ all, pause: async () => {} })
  }

  get sorted(): (readonly [time: number, value: number])[] {
    return [...this.points].sort(([a], [b]) => a - b)
  }

  get sortedMarks(): number[] {
    return [...this.marks].sort((a, b) => a - b)
  }
}
