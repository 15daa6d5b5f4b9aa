import type { StreamEvent, StreamPosition } from '#bench/dashboard'
import { Dashboard } from '#bench/dashboard'
import type { Fleet } from '#bench/fleet/fleet'
import type { ComparisonReport, ComparisonRule, ReceivedUpdate } from '#bench/fleet/stream-comparison'
import { StreamComparison } from '#bench/fleet/stream-comparison'

export interface EventCheckerOptions {
  readonly name: string
  readonly url: string
  readonly fleets: readonly Pick<Fleet, 'devices'>[]
  readonly from: 'state' | StreamPosition
  readonly rule: ComparisonRule
  readonly authorization?: string
  /** Receives events of other devices. */
  readonly others?: (event: StreamEvent) => boolean
}

/** A subscriber that compares all received events with the frames that the fleets sent. */
export class EventChecker {
  readonly name: string
  readonly dashboard: Dashboard
  readonly #comparisons: readonly StreamComparison[]
  #strangers = 0
  #lastOffset: number | undefined
  #gaps = 0
  /** How often a device was created. */
  readonly #lives = new Map<unknown, number>()
  /** By flake address: a device, in one of its lives. */
  readonly #flakes = new Map<unknown, string>()
  #sharedFlakes = 0

  constructor({ name, url, fleets, from, rule, authorization, others }: EventCheckerOptions) {
    this.name = name
    if (typeof from === 'object') this.#lastOffset = from.offset
    this.#comparisons = fleets.map((fleet) => new StreamComparison(fleet.devices, rule))
    this.dashboard = new Dashboard({
      url,
      from,
      backoffMsMax: 300,
      ...(authorization !== undefined && { authorization }),
      onEvent: (event) => {
        if (rule === 'whole') this.#checkIdentity(event)
        const isOthers = others?.(event) === true
        if (event.type !== 'OBJECT_UPDATED') return
        const update = event as unknown as ReceivedUpdate
        if (!isOthers && !this.#comparisons.some((comparisons) => comparisons.add(update))) this.#strangers++
      },
    })
  }

  /**
   * A subscriber to all events receives every offset, and each device has its own flake address. Contract 3.11, 4.3.
   */
  #checkIdentity({ offset, type, deviceIdentifier, flakeAddress }: StreamEvent): void {
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
    for (const comparisons of this.#comparisons) comparisons.mark()
  }

  missingSinceMark(): readonly string[] {
    return this.#comparisons.flatMap((comparisons) => comparisons.missingSinceMark())
  }

  report(): ComparisonReport {
    return this.#comparisons
      .map((comparisons) => comparisons.report())
      .reduce(addReports, new StreamComparison([]).report())
  }

  problems(): readonly string[] {
    const { dashboard, name } = this
    const report = this.report()
    const counted: readonly (readonly [number, string])[] = [
      [report.lost, 'acknowledged frames were lost'],
      [report.doubled, 'frames were received twice'],
      [report.disordered, 'frames were received out of order'],
      [report.wrong, 'events were not what was sent'],
      [report.refusedReceived, 'refused frames were received'],
      [this.#strangers, 'events were of devices that are none of ours'],
      [this.#gaps, 'offsets were left out'],
      [this.#sharedFlakes, 'flake addresses were given twice'],
      [dashboard.faultCount, 'promises of the stream were broken'],
      [dashboard.counts.notRecovered, 'times a position was not recovered'],
      [dashboard.counts.resyncs, 'full reads demanded by the server'],
    ]
    const found = counted.filter(([count]) => count > 0).map(([count, what]) => `${name}: ${count} ${what}`)
    return found.length === 0 ? [] : [...found, ...report.details, ...dashboard.faults]
  }
}

function addReports(one: ComparisonReport, other: ComparisonReport): ComparisonReport {
  const sum = (field: Exclude<keyof ComparisonReport, 'details'>): number => one[field] + other[field]
  return {
    acknowledged: sum('acknowledged'),
    found: sum('found'),
    lost: sum('lost'),
    unacknowledged: sum('unacknowledged'),
    doubled: sum('doubled'),
    disordered: sum('disordered'),
    wrong: sum('wrong'),
    refusedReceived: sum('refusedReceived'),
    changesReceived: sum('changesReceived'),
    details: [...one.details, ...other.details],
  }
}
