import type { Grant } from '#model/scope'
import type { ReadRow } from '#test/simulation/reference-alarms'
import { mayRead } from '#test/simulation/reference-filter'
import type { ReadUpdates } from '#test/simulation/reference-updates'
import type { ReadSubscription } from '#test/simulation/simulated-subscribers'
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

type Row = ReadSubscription & { readonly deviceIdentifier: string }

/** A client's copy of its user's subscriptions: those of other users are neither listed nor sent. */
export class SubscriptionView extends ListView<Row> {
  readonly list = 'listSubscriptions'
  readonly resource = 'notifications'
  readonly #account: () => string
  #rows = new Map<string, string>()

  /** `account`: the resource name of the owner. */
  constructor(account: () => string) {
    super()
    this.#account = account
  }

  protected differences(rows: readonly Row[]): readonly string[] {
    const there = new Map(rows.filter(({ createdBy }) => createdBy === this.#account()).map(entryOf))
    const names = new Set([...this.#rows.keys(), ...there.keys()])
    return [...names]
      .filter((name) => this.#rows.get(name) !== there.get(name))
      .map((name) => `${name}: here ${this.#rows.get(name)}, there ${there.get(name)}`)
  }

  protected concerns(type: string): boolean {
    return type.startsWith('NOTIFICATION_')
  }

  protected take(rows: readonly Row[]): void {
    this.#rows = new Map(rows.map(entryOf))
  }

  protected apply({ type, resourceIdentifier, payload }: ViewedEvent): void {
    if (type === 'NOTIFICATION_UNSUBSCRIBE') this.#rows.delete(String(resourceIdentifier))
    else this.#rows.set(...entryOf(payload as Row))
  }
}

function entryOf({ resourceIdentifier, topic, locale, createdBy }: Row): [string, string] {
  return [resourceIdentifier, JSON.stringify({ topic, locale, createdBy })]
}

/** Has the interface of lists about devices. */
export function subscriptionRows(listed: readonly ReadSubscription[]): Lists[string] {
  return listed.map((row) => ({ ...row, deviceIdentifier: '' }))
}

export class UpdateView extends ListView<ReadUpdates> {
  readonly list = 'listUpdates'
  readonly resource = 'updates'
  override readonly query = { depth: 2 }
  /** By device and index. */
  #rows = new Map<string, string>()

  /** A client without read on a device gets no event of its deletion, and cannot distinguish it from its successor. */
  protected differences(rows: readonly ReadUpdates[], grants: readonly Grant[]): readonly string[] {
    const known = rows.filter(({ deviceIdentifier }) => mayRead(grants, 'device', deviceIdentifier))
    return [...statusesOf(known)]
      .filter(([place, status]) => this.#rows.get(place) !== status)
      .map(([place, status]) => `update of ${place}: here ${this.#rows.get(place)}, there ${status}`)
  }

  protected concerns(type: string): boolean {
    return type === 'UPDATE_STATUS' || type === 'DEVICE_DELETE'
  }

  protected take(rows: readonly ReadUpdates[]): void {
    this.#rows = statusesOf(rows)
  }

  protected apply(event: ViewedEvent): void {
    const { type, deviceIdentifier: device, index, timestamp: at, status, firmware, progress, message } = event
    if (type === 'UPDATE_STATUS')
      this.#rows.set(`${device} ${index}`, textOf({ at, status, firmware, progress, message }))
    else {
      for (const place of this.#rows.keys()) if (place.startsWith(`${device} `)) this.#rows.delete(place)
    }
  }
}

function statusesOf(rows: readonly ReadUpdates[]): Map<string, string> {
  const statuses = new Map<string, string>()
  for (const { deviceIdentifier: device, firmwares } of rows)
    for (const { index, update } of firmwares) if (update) statuses.set(`${device} ${index}`, textOf(update))
  return statuses
}

function textOf({ at, status, firmware, progress, message }: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ at, status, firmware, progress, message })
}
