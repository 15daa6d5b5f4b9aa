import type { Grant } from '#model/scope'
import { mayRead } from '#test/simulation/reference-filter'
import type { Witness } from '#test/simulation/witness'

export type ViewedEvent = Readonly<Record<string, unknown>> & { readonly offset: number }

export interface ListedRow {
  readonly deviceIdentifier: string
}

/** What lists are to who may read everything, by their names. */
export type Lists = Readonly<Record<string, readonly ListedRow[]>>

/** A list of its own beside the devices, as a client holds it: read once, then kept up by events alone. */
export abstract class ListView<R extends ListedRow = ListedRow> {
  /** By which it is read, and what must be readable for that. */
  abstract readonly list: string
  abstract readonly resource: string
  readonly query: object = {}
  needsRead = true
  isReading = false
  /** What it holds is of then, or later. */
  position = 0
  #waiting: ViewedEvent[] = []

  /** It may have missed something. */
  forget(): void {
    this.needsRead = true
    this.#waiting = []
  }

  replace(rows: readonly R[], position: number): void {
    this.needsRead = false
    this.position = position
    this.take(rows)
    const waiting = this.#waiting
    this.#waiting = []
    for (const event of waiting) this.told(event)
  }

  told(event: ViewedEvent): void {
    const isConcerned = this.concerns(String(event.type))
    if (this.needsRead) {
      if (isConcerned) this.#waiting.push(event)
    } else if (event.offset > this.position) {
      this.position = event.offset
      if (isConcerned) this.apply(event)
    }
  }

  /** All up to there was heard. */
  positioned(offset: number): void {
    this.position = Math.max(this.position, offset)
  }

  /** In what it is not as it should be, for somebody with these grants. */
  faults(lists: Lists, grants: readonly Grant[], witness: Witness): readonly string[] {
    const rows = (lists[this.list] ?? []) as readonly R[]
    const seen = rows.filter(({ deviceIdentifier }) => mayRead(grants, this.resource, deviceIdentifier || undefined))
    if (seen.length > 0) witness.count(`${this.resource} compared`)
    return this.differences(seen, grants)
  }

  /** `rows`: all that he may read. */
  protected abstract differences(rows: readonly R[], grants: readonly Grant[]): readonly string[]
  protected abstract concerns(type: string): boolean
  protected abstract take(rows: readonly R[]): void
  protected abstract apply(event: ViewedEvent): void
}
