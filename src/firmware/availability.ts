import { tenantKey } from '#model/tenant-key'
import type { UpdateQuery } from '#model/update-offer'
import type { World } from '#runtime/world'

/** How long an answer counts for whoever looks. */
const freshMs = 60_000
/** How long a device that had no update is not asked for again because it comes back. */
const restMs = 10 * 60_000
/** Of one generation; there are two of them. A row is some 150 bytes. */
const rowsMax = 100_000
/** Projects that are remembered to be in doubt; beyond, all are. */
const doubtedMax = 10_000

/** What the update server said of one firmware of a device. */
interface Row {
  readonly question: UpdateQuery
  readonly isAvailable: boolean
  /** World.monotonic. */
  readonly heardAt: number
  /** Number of the question: what was asked before a project was in doubt does not count. */
  readonly number: number
}

/**
 * Whether there are updates, as far as an update server said so: of a device and index the last question only. What is
 * looked for and what is new stays; of more rows than there is room for the oldest go.
 */
export class Availability {
  readonly #world: World
  #young = new Map<string, Row>()
  #old = new Map<string, Row>()
  #number = 0
  /** By project, since which question. */
  readonly #doubted = new Map<string, number>()
  #allDoubted = 0

  constructor(world: World) {
    this.#world = world
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  /** A number for a question that is asked now. */
  asked(): number {
    return ++this.#number
  }

  /** `number`: that of the question. */
  answered(question: UpdateQuery, number: number, isAvailable: boolean): void {
    const key = keyOf(question)
    const known = this.#row(key)
    if (known && known.number > number) return
    this.#keep(key, { question, isAvailable, heardAt: this.#world.monotonic(), number })
  }

  /** What was heard last of this very firmware, however long ago. */
  lastOf(question: UpdateQuery): boolean | undefined {
    return this.#rowOf(question)?.isAvailable
  }

  /** Heard within a minute, and not in doubt. */
  isFresh(question: UpdateQuery): boolean {
    return this.#isWithin(this.#rowOf(question), freshMs)
  }

  /** There was none, some minutes ago at most. */
  isResting(question: UpdateQuery): boolean {
    const row = this.#rowOf(question)
    return row?.isAvailable === false && this.#isWithin(row, restMs)
  }

  /** What was heard of a project may be wrong from now on. */
  doubt(tenant: string, project: string): void {
    if (this.#doubted.size >= doubtedMax) {
      this.#doubted.clear()
      this.#allDoubted = this.#number
    }
    this.#doubted.set(tenantKey(tenant, project), this.#number)
  }

  #isWithin(row: Row | undefined, ms: number): boolean {
    if (!row || this.#world.monotonic() - row.heardAt > ms) return false
    const { tenant, project } = row.question
    return row.number > (this.#doubted.get(tenantKey(tenant, project)) ?? this.#allDoubted)
  }

  #rowOf(question: UpdateQuery): Row | undefined {
    const key = keyOf(question)
    const row = this.#row(key)
    if (!row || !isSame(row.question, question)) return undefined
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

/** A firmware of a device, whatever it is. */
export function keyOf({ tenant, device, index }: UpdateQuery): string {
  return `${tenant}/${device}/${index}`
}

/** Whether two questions about one firmware of a device have one answer, whoever asks. */
export function isSame(a: UpdateQuery, b: UpdateQuery): boolean {
  return a.firmware === b.firmware && a.hardware === b.hardware && a.project === b.project
}
