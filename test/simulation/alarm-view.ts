import { ListView, type ViewedEvent } from '#test/simulation/list-view'
import type { ReadRow } from '#test/simulation/reference-alarms'

export class AlarmView extends ListView<ReadRow> {
  readonly list = 'listAlarmStatus'
  readonly resource = 'alarms'
  #rows = new Map<string, Pick<ReadRow, 'active' | 'since' | 'acknowledged'>>()

  /** An ended alarm stays here as inactive; the server may list no row for it any more. */
  protected differences(rows: readonly ReadRow[]): readonly string[] {
    const there = new Map(rows.map((row) => [pairOf(row), shown(row)]))
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
    this.#rows = new Map(rows.map((row) => [pairOf(row), shown(row)]))
  }

  protected apply(event: ViewedEvent): void {
    const pair = pairOf(event)
    const before = this.#rows.get(pair)
    const { by, timestamp: at, comment = null } = event
    const since = event.since as number
    if (event.type === 'ALARM_STATUS_ACKNOWLEDGED')
      this.#rows.set(pair, { active: before?.active ?? true, since, acknowledged: { by, at, comment } as never })
    else if (event.type === 'ALARM_STATUS_ACTIVE') this.#rows.set(pair, { active: true, since, acknowledged: null })
    else this.#rows.set(pair, { active: false, since, acknowledged: before?.acknowledged ?? null })
  }
}

function shown({ active, since, acknowledged }: ReadRow): Pick<ReadRow, 'active' | 'since' | 'acknowledged'> {
  return { active, since, acknowledged }
}

function pairOf({ resourceIdentifier, deviceIdentifier }: Readonly<Record<string, unknown>> | ReadRow): string {
  return `${resourceIdentifier} on ${deviceIdentifier}`
}
