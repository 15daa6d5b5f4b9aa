import { ListView, type ViewedEvent } from '#test/simulation/list-view'
import type { ReadRow } from '#test/simulation/reference-alarms'

/** A client's copy of the alarm states on devices. */
export class AlarmView extends ListView<ReadRow> {
  readonly list = 'listAlarmStatus'
  readonly resource = 'alarms'
  #rows = new Map<string, { readonly active: boolean; readonly since: unknown }>()

  /** An alarm that ended is sent as inactive, and has no row any more. */
  protected differences(rows: readonly ReadRow[]): readonly string[] {
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

  protected concerns(type: string): boolean {
    return type.startsWith('ALARM_STATUS_')
  }

  protected take(rows: readonly ReadRow[]): void {
    this.#rows = new Map(rows.map((row) => [pairOf(row), { active: row.active, since: row.since }]))
  }

  protected apply(event: ViewedEvent): void {
    this.#rows.set(pairOf(event), { active: event.type === 'ALARM_STATUS_ACTIVE', since: event.since })
  }
}

function pairOf({ resourceIdentifier, deviceIdentifier }: Readonly<Record<string, unknown>> | ReadRow): string {
  return `${resourceIdentifier} on ${deviceIdentifier}`
}
