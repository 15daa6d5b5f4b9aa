import type { StreamEvent, StreamPosition } from '#bench/dashboard'
import { Dashboard } from '#bench/dashboard'
import type { Fleet } from '#bench/fleet/fleet'
import type { HeardReport, HeardUpdate, HearingRule } from '#bench/fleet/heard'
import { HeardBooks } from '#bench/fleet/heard'

export interface WitnessOptions {
  readonly name: string
  readonly url: string
  readonly fleets: readonly Pick<Fleet, 'devices'>[]
  readonly from: 'state' | StreamPosition
  readonly rule: HearingRule
  readonly authorization?: string
  /** Receives events of other devices. */
  readonly others?: (event: StreamEvent) => boolean
}

/** A subscriber that compares all received events with the frames that the fleets sent. */
export class Witness {
  readonly name: string
  readonly dashboard: Dashboard
  readonly #books: readonly HeardBooks[]
  #strangers = 0
  #lastOffset: number | undefined
  #gaps = 0
  /** How often a device was created. */
  readonly #lives = new Map<unknown, number>()
  /** By flake address: a device, in one of its lives. */
  readonly #flakes = new Map<unknown, string>()
  #sharedFlakes = 0

  constructor({ name, url, fleets, from, rule, authorization, others }: WitnessOptions) {
    this.name = name
    if (typeof from === 'object') this.#lastOffset = from.offset
    this.#books = fleets.map((fleet) => new HeardBooks(fleet.devices, rule))
    this.dashboard = new Dashboard({
      url,
      from,
      backoffMsMax: 300,
      ...(authorization !== undefined && { authorization }),
      onEvent: (event) => {
        if (rule === 'whole') this.#look(event)
        const isOthers = others?.(event) === true
        if (event.type !== 'OBJECT_UPDATED') return
        const update = event as unknown as HeardUpdate
        if (!isOthers && !this.#books.some((books) => books.hear(update))) this.#strangers++
      },
    })
  }

  /**
   * A subscriber to all events receives every offset, and each device has its own flake address. Contract 3.11, 4.3.
   */
  #look({ offset, type, deviceIdentifier, flakeAddress }: StreamEvent): void {
    if (this.#lastOffset !== undefined && offset !== this.#lastOffset + 1) this.#gaps++
    this.#lastOffset = offset
    if (type === 'DEVICE_ADD') this.#lives.set(deviceIdentifier, (this.#lives.get(deviceIdentifier) ?? 0) + 1)
    if (flakeAddress === undefined) return
    const life = `${deviceIdentifier} ${this.#lives.get(deviceIdentifier) ?? 0}`
    const owner = this.#flakes.get(flakeAddress)
    if (owner !== undefined && owner !== life) this.#sharedFlakes++
    this.#flakes.set(flakeAddress, life)
  }

  mark(): void {
    for (const books of this.#books) books.mark()
  }

  missingSinceMark(): readonly string[] {
    return this.#books.flatMap((books) => books.missingSinceMark())
  }

  report(): HeardReport {
    return this.#books.map((books) => books.report()).reduce(addReports, new HeardBooks([]).report())
  }

  /** All faults. */
  problems(): readonly string[] {
    const { dashboard, name } = this
    const report = this.report()
    const counted: readonly (readonly [number, string])[] = [
      [report.lost, 'acknowledged frames were lost'],
      [report.doubled, 'frames were heard twice'],
      [report.disordered, 'frames were heard out of order'],
      [report.wrong, 'events were not what was sent'],
      [report.refusedHeard, 'refused frames were heard'],
      [this.#strangers, 'events were of devices that are none of ours'],
      [this.#gaps, 'offsets were left out'],
      [this.#sharedFlakes, 'flake addresses were given twice'],
      [dashboard.faultCount, 'promises of the stream were broken'],
      [dashboard.counts.notRecovered, 'times a position was not recovered'],
      [dashboard.counts.resyncs, 'times told to read everything again'],
    ]
    const found = counted.filter(([count]) => count > 0).map(([count, what]) => `${name}: ${count} ${what}`)
    return found.length === 0 ? [] : [...found, ...report.details, ...dashboard.faults]
  }
}

function addReports(one: HeardReport, other: HeardReport): HeardReport {
  const sum = (field: Exclude<keyof HeardReport, 'details'>): number => one[field] + other[field]
  return {
    acknowledged: sum('acknowledged'),
    found: sum('found'),
    overridden: sum('overridden'),
    stripped: sum('stripped'),
    lost: sum('lost'),
    unacknowledged: sum('unacknowledged'),
    doubled: sum('doubled'),
    disordered: sum('disordered'),
    wrong: sum('wrong'),
    refusedHeard: sum('refusedHeard'),
    changesHeard: sum('changesHeard'),
    details: [...one.details, ...other.details],
  }
}
