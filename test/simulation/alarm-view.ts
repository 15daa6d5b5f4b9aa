import type { ReadRow } from '#test/simulation/reference-alarms'

type Event = Readonly<Record<string, unknown>> & { readonly offset: number }

/** Where alarms are or were active, as a client holds it: read once, then kept up by events alone. */
export class AlarmView {
  needsRead = true
  isReading = false
  #position = 0
  #waiting: Event[] = []
  #rows = new Map<string, { readonly active: boolean; readonly since: unknown }>()

  /** It may have missed something. */
  forget(): void {
    this.needsRead = true
    this.#waiting = []
  }

  replace(rows: readonly ReadRow[], position: number): void {
    this.needsRead = false
    this.#position = position
    this.#rows = new Map(rows.map((row) => [pairOf(row), { active: row.active, since: row.since }]))
    const waiting = this.#waiting
    this.#waiting = []
    for (const event of waiting) this.told(event)
  }

  told(event: Event): void {
    if (!String(event.type).startsWith('ALARM_STATUS_')) return
    if (this.needsRead) this.#waiting.push(event)
    else if (event.offset > this.#position)
      this.#rows.set(pairOf(event), { active: event.type === 'ALARM_STATUS_ACTIVE', since: event.since })
  }

  /** In what it is not as it should be. What ended is told as inactive, and is no row any more. */
  differences(rows: readonly ReadRow[]): readonly string[] {
    const there = new Map(rows.map((row) => [pairOf(row), { active: row.active, since: row.since }]))
    const found: string[] = []
    for (const [pair, row] of there) {
      const here = this.#rows.get(pair)
      if (JSON.stringify(here) !== JSON.stringify(row))
        found.push(`${pair}: here ${JSON.stringify(here)}, there ${JSON.stringify(row)}`)
    }
    for (const [pair, { active }] of this.#rows) {
      if (active && !there.has(pair)) found.push(`${pair} is active here only`)
    }
    return found
  }
}

function pairOf({ resourceIdentifier, deviceIdentifier }: Readonly<Record<string, unknown>> | ReadRow): string {
  return `${resourceIdentifier} on ${deviceIdentifier}`
}
