import type { StreamEvent, StreamPosition } from '#bench/dashboard'
import { Dashboard } from '#bench/dashboard'
import { numberOf } from '#bench/load/update-template'

/**
 * The frames of a fleet: device n sent 1 to `sent[n]`, of which 1 to `acknowledged[n]` were acknowledged. Frame k of
 * device n carries the number (k − 1) · devices + n.
 */
export interface SentFrames {
  readonly prefix: string
  readonly sent: readonly number[]
  readonly acknowledged: readonly number[]
}

/** `whole`: every frame once. `newest`: a subscriber that falls behind may miss values that a later one overrides. */
type CheckRule = 'whole' | 'newest'

export interface EventCheckerOptions {
  readonly name: string
  readonly url: string
  /** Called when the received events are compared. The prefixes and numbers of devices do not change. */
  readonly sentFrames: () => readonly SentFrames[]
  readonly from: 'state' | StreamPosition
  readonly rule: CheckRule
  readonly authorization?: string | undefined
  /** Receives all events; returns whether an event is of another device. */
  readonly others?: (event: StreamEvent) => boolean
}

interface ReceivedFrames {
  readonly prefix: string
  /** By device, the last received frame, and the frame that was acknowledged at the mark. */
  readonly last: Uint32Array
  marked: readonly number[]
}

const detailsMax = 40

/** A subscriber that compares all received events with the frames that fleets sent. Counts are frames. */
export class EventChecker {
  readonly dashboard: Dashboard
  readonly #options: EventCheckerOptions
  readonly #fleets: readonly ReceivedFrames[]
  readonly #details: string[] = []
  readonly #counts = { skipped: 0, repeated: 0, wrong: 0, strangers: 0, gaps: 0, sharedFlakes: 0 }
  #lastOffset: number | undefined
  /** How often a device was created. */
  readonly #lives = new Map<unknown, number>()
  /** By flake address: a device, in one of its lives. */
  readonly #flakes = new Map<unknown, string>()

  constructor(options: EventCheckerOptions) {
    const { url, sentFrames, from, rule, authorization, others } = options
    this.#options = options
    if (typeof from === 'object') this.#lastOffset = from.offset
    this.#fleets = sentFrames().map(({ prefix, sent }) => ({ prefix, last: new Uint32Array(sent.length), marked: [] }))
    this.dashboard = new Dashboard({
      ...{ url, from, backoffMsMax: 300, ...(authorization !== undefined && { authorization }) },
      onEvent: (event) => {
        if (rule === 'whole') this.#checkIdentity(event)
        const isOthers = others?.(event) === true
        if (event.type === 'OBJECT_UPDATED' && !isOthers) this.#receive(event)
      },
    })
  }

  /** By fleet and device, the last received frame. */
  get lastFrames(): readonly ArrayLike<number>[] {
    return this.#fleets.map(({ last }) => last)
  }

  mark(): void {
    const frames = this.#options.sentFrames()
    for (const [place, fleet] of this.#fleets.entries()) fleet.marked = frames[place]?.acknowledged ?? []
  }

  /** Devices of which a frame that was acknowledged at the mark was not received yet. */
  missingSinceMark(): readonly string[] {
    return this.#fleets.flatMap(({ prefix, last, marked }) =>
      marked.flatMap((frame, device) => {
        const received = last[device] as number
        return frame > received
          ? [`${prefix}-${device}: frame ${frame} was acknowledged, received up to ${received}`]
          : []
      }),
    )
  }

  report() {
    const counts = {
      acknowledged: 0,
      lost: this.#options.rule === 'whole' ? this.#counts.skipped : 0,
      unacknowledged: 0,
    }
    let unsent = 0
    for (const [place, { sent, acknowledged }] of this.#options.sentFrames().entries()) {
      for (const [device, last] of this.#fleets[place]?.last.entries() ?? []) {
        const least = acknowledged[device] as number
        counts.acknowledged += least
        counts.lost += Math.max(0, least - last)
        counts.unacknowledged += Math.max(0, last - least)
        if (last > (sent[device] as number)) unsent++
      }
    }
    const { repeated, wrong } = this.#counts
    return { ...counts, found: counts.acknowledged - counts.lost, repeated, wrong: wrong + unsent }
  }

  problems(): readonly string[] {
    const { dashboard } = this
    const { name } = this.#options
    const { lost, repeated, wrong } = this.report()
    const { strangers, gaps, sharedFlakes } = this.#counts
    const counted: readonly (readonly [number, string])[] = [
      [lost, 'acknowledged frames were lost'],
      [repeated, 'frames were received twice, or out of order'],
      [wrong, 'events were not what was sent'],
      [strangers, 'events were of unknown devices'],
      [gaps, 'offsets were left out'],
      [sharedFlakes, 'flake addresses were given twice'],
      [dashboard.faultCount, 'promises of the stream were broken'],
      [dashboard.counts.notRecovered, 'times a position was not recovered'],
      [dashboard.counts.resyncs, 'full reads demanded by the server'],
    ]
    const found = counted.filter(([count]) => count > 0).map(([count, what]) => `${name}: ${count} ${what}`)
    return found.length === 0 ? [] : [...found, ...this.#details, ...dashboard.faults]
  }

  #receive(event: StreamEvent): void {
    const identifier = String(event.deviceIdentifier)
    const fleet = this.#fleets.find(({ prefix }) => identifier.startsWith(`${prefix}-`))
    const device = Number(identifier.slice((fleet?.prefix.length ?? 0) + 1))
    const before = fleet?.last[device]
    if (!fleet || before === undefined) {
      this.#counts.strangers++
      return
    }
    const numbers = (event.updates as readonly { value?: number }[]).map(({ value }) => numberOf(value ?? Number.NaN))
    // The values of a frame descend to its number.
    const number = numbers.at(-1) as number
    const isWhole = numbers.every((each, place) => each === number + numbers.length - 1 - place)
    const frame = (number - device) / fleet.last.length + 1
    if (!isWhole || !Number.isInteger(frame)) this.#count('wrong', `${identifier}: ${JSON.stringify(event.updates)}`)
    else if (frame <= before) this.#count('repeated', `${identifier}: frame ${frame} was received after ${before}`)
    else {
      if (frame > before + 1 && this.#options.rule === 'whole') {
        this.#count('skipped', `${identifier}: frame ${frame} was received after ${before}`, frame - before - 1)
      }
      fleet.last[device] = frame
    }
  }

  #count(count: 'wrong' | 'repeated' | 'skipped', detail: string, frames = 1): void {
    this.#counts[count] += frames
    if (this.#details.length < detailsMax) this.#details.push(detail.slice(0, 400))
  }

  /** A subscriber to all events receives every offset, and each device has its own flake address. Contract 3.11, 4.3. */
  #checkIdentity({ offset, type, deviceIdentifier, flakeAddress }: StreamEvent): void {
    if (this.#lastOffset !== undefined && offset !== this.#lastOffset + 1) this.#counts.gaps++
    this.#lastOffset = offset
    if (type === 'DEVICE_ADD') this.#lives.set(deviceIdentifier, (this.#lives.get(deviceIdentifier) ?? 0) + 1)
    if (flakeAddress === undefined) return
    const life = `${deviceIdentifier} ${this.#lives.get(deviceIdentifier) ?? 0}`
    const owner = this.#flakes.get(flakeAddress)
    if (owner !== undefined && owner !== life) this.#counts.sharedFlakes++
    this.#flakes.set(flakeAddress, life)
  }
}
