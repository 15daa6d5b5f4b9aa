import type { SeededRandom } from '#bench/random'

export const heaterService = 'heater'
/** The measured value, the target, the command that starts the fan for a while, the model, and the fan speed. */
export const degreesId = 0x2000
export const targetId = 0x2001
export const boostId = 0x2002
export const makeId = 0x2003
export const fanId = 0x2004

/** Actions use targets above this number, writes to one device those below. */
export const firstActionTarget = 1_000_000

type Update = { readonly propId: number; readonly value?: unknown; readonly error?: string }
export type Result = { readonly propId: number; readonly status: 'OK' | 'REJECTED'; readonly message?: string }

interface WriteMessage {
  readonly flakeAddress: number
  readonly id: string
  readonly serviceIdentifier: string
  readonly updates: readonly { readonly propId: number; readonly value: unknown }[]
}

/** A write that the heater executed. */
export interface Deed {
  readonly id: string
  /** The device's address at that time. */
  readonly address: number
  readonly updates: WriteMessage['updates']
  readonly results: readonly Result[]
  /** The new values were reported on the same connection before each answer. */
  isReportedFirst: boolean
}

/** The device of the heater. */
interface Place {
  /** False if it cannot be sent now. */
  reports(updates: readonly Update[]): boolean
  answers(message: object): void
  /** A write arrived under a new id. */
  asked(updates: WriteMessage['updates']): void
}

const manners = ['answers', 'is slow', 'refuses', 'says nothing', 'answers twice', 'leaves out one', 'is torn'] as const

/**
 * The writable part of a device: depending on its behavior it answers at once, late, never, twice, or in parts. It remembers
 * executed writes by id, also over reboots, and executes none twice. Contract 7, WRITE and RESULT.
 */
export class Heater {
  isOffered: boolean
  readonly deeds: Deed[] = []
  readonly #random: SeededRandom
  readonly #place: Place
  readonly #saysAtHello: boolean
  #manner: (typeof manners)[number]
  #degrees = 5
  #late: { readonly deed: Deed; readonly results: readonly Result[] }[] = []
  /** The number of HELLOs: frames before one may have been lost. */
  #generation = 0
  readonly #reportedIn = new Map<Deed, number>()

  constructor(random: SeededRandom, place: Place) {
    this.#random = random
    this.#place = place
    this.isOffered = random.next() < 0.85
    this.#saysAtHello = random.next() < 0.5
    this.#manner = this.#someManner()
  }

  get owesAnswers(): boolean {
    return this.#late.length > 0
  }

  get declaration(): readonly object[] {
    if (!this.isOffered) return []
    const said = this.#saysAtHello ? { value: this.#degrees } : {}
    return [
      {
        serviceIdentifier: heaterService,
        properties: [
          { propId: degreesId, type: 'FLOAT', ...said },
          { propId: targetId, type: 'UINT32' },
          { propId: boostId, type: 'BOOL', modifier: { isActionable: true } },
          { propId: makeId, type: 'STRING', value: 'a', modifier: { isReadOnly: true } },
          { propId: fanId, type: 'UINT32' },
        ],
      },
    ]
  }

  begins(): void {
    this.#generation++
    if (this.#random.next() < 0.1) this.#manner = this.#someManner()
  }

  /** The temperature changes a little; now and then the sensor fails. */
  warm(): void {
    const updates: Update[] = []
    for (let left = 1 + this.#random.below(2); left > 0; left--) {
      this.#degrees = Math.max(0, Math.min(10, this.#degrees + this.#random.below(7) - 3))
      updates.push({ propId: degreesId, value: this.#degrees })
    }
    if (this.#random.next() < 0.05) updates.push({ propId: degreesId, error: 'broken' })
    if (this.#random.next() < 0.2) updates.push({ propId: boostId, value: this.#random.next() < 0.5 })
    this.#place.reports(updates)
  }

  heard(message: WriteMessage): void {
    const before = this.deeds.find((deed) => deed.id === message.id)
    const deed = before ?? this.#does(message)
    const { results } = deed
    const some = results.slice(1)
    switch (this.#manner) {
      case 'answers':
      case 'refuses':
        this.#answer(deed, results)
        break
      case 'is slow':
        this.#late.push({ deed, results })
        break
      case 'says nothing':
        break
      case 'answers twice':
        this.#answer(deed, results)
        this.#answer(deed, results)
        break
      case 'leaves out one':
        if (some.length > 0) this.#answer(deed, some)
        break
      case 'is torn':
        if (some.length > 0) this.#answer(deed, some)
        this.#late.push({ deed, results })
    }
  }

  /** Values that changed and are not reported yet. */
  answerLate(): void {
    const late = this.#late
    this.#late = []
    for (const { deed, results } of late) this.#answer(deed, results)
  }

  #does({ flakeAddress: address, id, updates }: WriteMessage): Deed {
    const isRefused = this.#manner === 'refuses' || this.#random.next() < 0.1
    const results = updates.map(({ propId }): Result => {
      return isRefused ? { propId, status: 'REJECTED', message: `not ${id}` } : { propId, status: 'OK' }
    })
    const deed: Deed = { id, address, updates, results, isReportedFirst: false }
    this.deeds.push(deed)
    this.#place.asked(updates)
    if (isRefused || this.#random.next() < 0.3) return deed
    const numbers = updates.filter(({ propId }) => propId === targetId || propId === fanId)
    deed.isReportedFirst = numbers.length > 0 && this.#place.reports(numbers)
    this.#reportedIn.set(deed, this.#generation)
    return deed
  }

  #answer(deed: Deed, results: readonly Result[]): void {
    if (this.#reportedIn.get(deed) !== this.#generation) deed.isReportedFirst = false
    this.#place.answers({ type: 'RESULT', id: deed.id, results })
  }

  #someManner() {
    return manners[this.#random.below(manners.length)] ?? 'answers'
  }
}
