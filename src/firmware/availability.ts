import { tenantKey } from '#model/tenant'
import type { UpdateQuery } from '#model/update-offer'
import type { World } from '#runtime/world'

/** How long a known answer may be shown without another check. */
const freshMs = 60_000
/** For this long, a device without an update is not checked again when it reconnects. */
const restMs = 10 * 60_000
/** Maximum number of rows of one generation; there are two generations. A row takes about 150 bytes. */
const rowsMax = 100_000
/** The largest number of projects remembered as doubtful; above it, all projects count as doubtful. */
const doubtedMax = 10_000

/** The last answer of the update server for one firmware index of a device. */
interface Row {
  readonly query: UpdateQuery
  readonly isAvailable: boolean
  /** World.monotonic, ms. */
  readonly answeredAt: number
  /** The number of the query. The answer does not count if its query began before the project became doubtful. */
  readonly number: number
}

/**
 * Whether updates are available, from the last answer of the update server for each device and index. When a
 * generation is full, rows that were not read or written lately are dropped.
 */
export class Availability {
  readonly #world: World
  #young = new Map<string, Row>()
  #old = new Map<string, Row>()
  #number = 0
  /** By project: the number of the last query before the project became doubtful. */
  readonly #doubted = new Map<string, number>()
  #allDoubted = 0

  constructor(world: World) {
    this.#world = world
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  /** Returns the number for a query that starts now. */
  nextNumber(): number {
    return ++this.#number
  }

  record(query: UpdateQuery, number: number, isAvailable: boolean): void {
    const key = keyOf(query)
    const known = this.#row(key)
    if (known && known.number > number) return
    this.#keep(key, { query, isAvailable, answeredAt: this.#world.monotonic(), number })
  }

  /** The last answer for exactly this version, hardware and project, of any age. */
  lastOf(query: UpdateQuery): boolean | undefined {
    return this.#rowOf(query)?.isAvailable
  }

  /** Whether the answer is at most a minute old and not doubtful. */
  isFresh(query: UpdateQuery): boolean {
    return this.#isWithin(this.#rowOf(query), freshMs)
  }

  /** Whether the last answer was "no update", is at most ten minutes old and not doubtful. */
  isRecentlyNone(query: UpdateQuery): boolean {
    const row = this.#rowOf(query)
    return row?.isAvailable === false && this.#isWithin(row, restMs)
  }

  /** Known answers for the project may be wrong: they no longer count as fresh. */
  doubt(tenant: string, project: string): void {
    if (this.#doubted.size >= doubtedMax) {
      this.#doubted.clear()
      this.#allDoubted = this.#number
    }
    this.#doubted.set(tenantKey(tenant, project), this.#number)
  }

  #isWithin(row: Row | undefined, ms: number): boolean {
    if (!row || this.#world.monotonic() - row.answeredAt > ms) return false
    const { tenant, project } = row.query
    return row.number > (this.#doubted.get(tenantKey(tenant, project)) ?? this.#allDoubted)
  }

  #rowOf(query: UpdateQuery): Row | undefined {
    const key = keyOf(query)
    const row = this.#row(key)
    if (!row || !isSame(row.query, query)) return undefined
    if (!this.#young.has(key)) this.#keep(key, row)
    return row
  }

  #row(key: string): Row | undefined {
    return this.#young.get(key) ?? this.#old.get(key)
  }

  #keep(key: string, row: Row): void {
    this.#old.delete(key)
    this.#young.set(key, row)
    if (this.#young.size < rowsMax) return
    this.#old = this.#young
    this.#young = new Map()
  }
}

/** Identifies one firmware index of a device, independent of the version. */
export function keyOf({ tenant, device, index }: UpdateQuery): string {
  return `${tenant}/${device}/${index}`
}

/** Whether two queries about the same firmware index of a device have the same answer, independent of the caller. */
export function isSame(a: UpdateQuery, b: UpdateQuery): boolean {
  return a.firmware === b.firmware && a.hardware === b.hardware && a.project === b.project
}
