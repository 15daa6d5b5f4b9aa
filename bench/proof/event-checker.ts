import { Dashboard, type StreamEvent, type StreamPosition } from '#bench/dashboard'
import { numberOf } from '#bench/load/update-template'

/**
 * The frames of a fleet: device n sent the frames 1 to `sent[n]`, and the frames 1 to `acknowledged[n]` were
 * acknowledged. Frame k of device n carries the number (k − 1) · devices + n.
 */
export interface SentFrames {
  readonly prefix: string
  readonly sent: readonly number[]
  readonly acknowledged: readonly number[]
}

/** `whole`: every frame once. `newest`: a subscriber that falls behind may miss values that later values override. */
type CheckRule = 'whole' | 'newest'

interface ReceivedFrames {
  readonly prefix: string
  /** For each device, the last received frame. */
  readonly last: Uint32Array
}

const detailsMax = 40

/** Compares received events with the frames that fleets sent. Counts are frames. */
export class FrameComparison {
  readonly details: string[] = []
  readonly #sentFrames: () => readonly SentFrames[]
  readonly #rule: CheckRule
  readonly #fleets: readonly ReceivedFrames[]
  readonly #counts = { skipped: 0, repeated: 0, wrong: 0, unknown: 0 }

  /** `sentFrames`: returns the frames as of now. The prefixes and numbers of devices do not change. */
  constructor(sentFrames: () => readonly SentFrames[], rule: CheckRule) {
    this.#sentFrames = sentFrames
    this.#rule = rule
    this.#fleets = sentFrames().map(({ prefix, sent }) => ({ prefix, last: new Uint32Array(sent.length) }))
  }

  /** By fleet and device, the last received frame. */
  get lastFrames(): readonly ArrayLike<number>[] {
    return this.#fleets.map(({ last }) => last)
  }

  add({ deviceIdentifier, updates }: Readonly<Record<string, unknown>>): void {
    const identifier = String(deviceIdentifier)
    const fleet = this.#fleets.find(({ prefix }) => identifier.startsWith(`${prefix}-`))
    const device = Number(identifier.slice((fleet?.prefix.length ?? 0) + 1))
    const before = fleet?.last[device]
    if (!fleet || before === undefined) {
      this.#count('unknown', identifier)
      return
    }
    const numbers = (updates as readonly { value?: number }[]).map(({ value }) => numberOf(value ?? Number.NaN))
    // The values of a frame decrease by one; the last one is the number of the frame.
    const number = numbers.at(-1) as number
    const isWhole = numbers.every((each, place) => each === number + numbers.length - 1 - place)
    const frame = (number - device) / fleet.last.length + 1
    if (!isWhole || !Number.isInteger(frame)) this.#count('wrong', `${identifier}: ${JSON.stringify(updates)}`)
    else if (frame <= before) this.#count('repeated', `${identifier}: frame ${frame} was received after ${before}`)
    else {
      if (frame > before + 1 && this.#rule === 'whole') {
        this.#count('skipped', `${identifier}: frame ${frame} was received after ${before}`, frame - before - 1)
      }
      fleet.last[device] = frame
    }
  }

  /** The devices with an acknowledged frame of these that was not received yet. */
  missingOf(frames: readonly SentFrames[]): readonly string[] {
    return frames.flatMap(({ prefix, acknowledged }, place) =>
      acknowledged.flatMap((frame, device) => {
        const received = this.#fleets[place]?.last[device] ?? 0
        return frame > received
          ? [`${prefix}-${device}: frame ${frame} was acknowledged, received up to ${received}`]
          : []
      }),
    )
  }

  report() {
    const { skipped, repeated, wrong, unknown } = this.#counts
    const counts = { acknowledged: 0, lost: skipped, unacknowledged: 0, repeated, wrong, unknown }
    for (const [place, { sent, acknowledged }] of this.#sentFrames().entries()) {
      for (const [device, last] of this.#fleets[place]?.last.entries() ?? []) {
        const least = acknowledged[device] as number
        counts.acknowledged += least
        counts.lost += Math.max(0, least - last)
        counts.unacknowledged += Math.max(0, last - least)
        if (last > (sent[device] as number)) counts.wrong++
      }
    }
    return { ...counts, found: counts.acknowledged - counts.lost }
  }

  #count(count: 'wrong' | 'repeated' | 'skipped' | 'unknown', detail: string, frames = 1): void {
    this.#counts[count] += frames
    if (this.details.length < detailsMax) this.details.push(detail.slice(0, 400))
  }
}

interface EventCheckerOptions {
  readonly name: string
  readonly url: string
  /** See `FrameComparison`. */
  readonly sentFrames: () => readonly SentFrames[]
  readonly from: 'state' | StreamPosition
  readonly rule: CheckRule
  readonly authorization?: string | undefined
  /** Called with each event. Returns whether the event is of a device outside of the fleets. */
  readonly others?: (event: StreamEvent) => boolean
}

/**
 * Reads the whole stream from a position, and compares it with the frames. If its end was reached, compares its state
 * with that of the server.
 * `differencesMax`: how many differences of the states are reported; 0: they are not compared.
 */
export async function readStream(
  options: Omit<EventCheckerOptions, 'rule'>,
  timeoutMs: number,
  differencesMax?: number,
): Promise<{ readonly frames: FrameComparison; readonly faults: readonly string[] }> {
  const checker = new EventChecker({ ...options, rule: 'whole' })
  const { dashboard, frames } = checker
  dashboard.start()
  const isWhole = await dashboard.caughtUp(timeoutMs)
  const differences = isWhole && differencesMax !== 0 ? await dashboard.differences(differencesMax) : []
  dashboard.stop()
  const faults = [
    ...(isWhole ? [] : ['the stream could not be read to its end']),
    ...checker.problems(),
    ...differences.map((text) => `the stream folded from its start against GET /devices: ${text}`),
  ]
  return { frames, faults }
}

/** A subscriber that compares all received events with the frames that fleets sent. */
export class EventChecker {
  readonly dashboard: Dashboard
  readonly frames: FrameComparison
  readonly #name: string
  readonly #counts = { gaps: 0, sharedFlakes: 0 }
  #lastOffset: number | undefined
  /** By device, how often it was created. */
  readonly #lives = new Map<unknown, number>()
  /** By flake address: its device, with the number of times that the device had been created. */
  readonly #flakes = new Map<unknown, string>()

  constructor({ name, url, sentFrames, from, rule, authorization, others }: EventCheckerOptions) {
    this.#name = name
    if (typeof from === 'object') this.#lastOffset = from.offset
    this.frames = new FrameComparison(sentFrames, rule)
    this.dashboard = new Dashboard({
      ...{ url, from, backoffMsMax: 300, authorization },
      onEvent: (event) => {
        if (rule === 'whole') this.#checkIdentity(event)
        const isOthers = others?.(event) === true
        if (event.type === 'OBJECT_UPDATED' && !isOthers) this.frames.add(event)
      },
    })
  }

  problems(): readonly string[] {
    const { lost, repeated, wrong, unknown } = this.frames.report()
    const { counts, faults, faultCount } = this.dashboard
    const { gaps, sharedFlakes } = this.#counts
    const counted: readonly (readonly [number, string])[] = [
      [lost, 'acknowledged frames were lost'],
      [repeated, 'frames were received twice, or out of order'],
      [wrong, 'events were not what was sent'],
      [unknown, 'events were of unknown devices'],
      [gaps, 'gaps or jumps in the offsets'],
      [sharedFlakes, 'flake addresses were given twice'],
      [faultCount, 'other violations of the stream'],
      [counts.notRecovered, 'times a position was not recovered'],
      [counts.resyncs, 'full reads demanded by the server'],
    ]
    const found = counted.filter(([count]) => count > 0).map(([count, what]) => `${this.#name}: ${count} ${what}`)
    return found.length === 0 ? [] : [...found, ...this.frames.details, ...faults]
  }

  /** A subscriber to all events receives every offset, and no two creations of a device get the same flake address. Contract 3.11, 4.3. */
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
