import type { StreamPosition } from '#bench/dashboard'
import { Dashboard } from '#bench/dashboard'
import type { Fleet } from '#bench/fleet/fleet'
import type { HeardReport, HeardUpdate, HearingRule } from '#bench/fleet/heard'
import { HeardBooks } from '#bench/fleet/heard'

/** A dashboard that holds all it hears against what the fleets sent. */
export class Witness {
  readonly name: string
  readonly dashboard: Dashboard
  readonly #books: readonly HeardBooks[]
  #strangers = 0

  constructor(name: string, url: string, fleets: readonly Fleet[], from: 'state' | StreamPosition, rule: HearingRule) {
    this.name = name
    this.#books = fleets.map((fleet) => new HeardBooks(fleet.devices, rule))
    this.dashboard = new Dashboard({
      url,
      from,
      backoffMsMax: 300,
      onEvent: (event) => {
        if (event.type !== 'OBJECT_UPDATED') return
        const update = event as unknown as HeardUpdate
        if (!this.#books.some((books) => books.hear(update))) this.#strangers++
      },
    })
  }

  mark(): void {
    for (const books of this.#books) books.mark()
  }

  missingSinceMark(): readonly string[] {
    return this.#books.flatMap((books) => books.missingSinceMark())
  }

  report(): HeardReport {
    return this.#books.map((books) => books.report()).reduce(addReports)
  }

  /** Everything that must not be, in words. */
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
