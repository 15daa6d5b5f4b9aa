import type { Grant } from '#model/scope'
import { mayRead } from '#test/simulation/reference-filter'
import type { Witness } from '#test/simulation/witness'

export type ViewedEvent = Readonly<Record<string, unknown>> & { readonly offset: number }

export interface ListedRow {
  readonly deviceIdentifier: string
}

/** The lists as an administrator reads them, by name. */
export type Lists = Readonly<Record<string, readonly ListedRow[]>>

/** A client's copy of a list other than that of devices: read once, then updated by events only. */
export abstract class ListView<R extends ListedRow = ListedRow> {
  /** The name of the list's route. */
  abstract readonly list: string
  /** The resource that the user needs permission to read. */
  abstract readonly resource: string
  readonly query: object = {}
  needsRead = true
  isReading = false
  /** The copy includes the events up to this offset. */
  position = 0
  #waiting: ViewedEvent[] = []

  /** Call when events may have been missed: the list must be read again. */
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
    for (const event of waiting) this.receive(event)
  }

  receive(event: ViewedEvent): void {
    const isConcerned = this.concerns(String(event.type))
    if (this.needsRead) {
      if (isConcerned) this.#waiting.push(event)
    } else if (event.offset > this.position) {
      this.position = event.offset
      if (isConcerned) this.apply(event)
    }
  }

  /** All events up to this offset have arrived. */
  positioned(offset: number): void {
    this.position = Math.max(this.position, offset)
  }

  /** Differences from the expected list for a user with these grants. */
  faults(lists: Lists, grants: readonly Grant[], witness: Witness): readonly string[] {
    const rows = (lists[this.list] ?? []) as readonly R[]
    const seen = rows.filter(({ deviceIdentifier }) => mayRead(grants, this.resource, deviceIdentifier || undefined))
    if (seen.length > 0) witness.count(`${this.resource} compared`)
    return this.differences(seen, grants)
  }

  /** `rows`: all rows that the user may read. */
  protected abstract differences(rows: readonly R[], grants: readonly Grant[]): readonly string[]
  protected abstract concerns(type: string): boolean
  protected abstract take(rows: readonly R[]): void
  protected abstract apply(event: ViewedEvent): void
}
