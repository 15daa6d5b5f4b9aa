import type { SeededRandom } from '#bench/random'

export const heaterService = 'heater'
/** The measured value. */
export const degreesId = 0x2000
/** The target value. */
export const targetId = 0x2001
/** A command that starts the fan for a while. */
export const boostId = 0x2002
/** The model. */
const makeId = 0x2003
/** The fan speed. */
export const fanId = 0x2004

/** Actions use targets above this number. */
export const firstActionTarget = 1_000_000
/** Desired values are between this number and the targets of actions; writes to one device use targets below. */
export const firstDesiredTarget = 500_000

/**
 * A constant property, a value of a wrong type, an unknown propId, an unknown name: none of these may ever be sent to a
 * device.
 */
export const invalidUpdates: readonly Readonly<Record<string, unknown>>[] = [
  { [makeId]: 'b' },
  { [degreesId]: 'warm' },
  { 4711: 1 },
  { nothing: 1 },
]

type Update = { readonly propId: number; readonly value?: unknown; readonly error?: string }
export type Result = { readonly propId: number; readonly status: 'OK' | 'REJECTED'; readonly message?: string }

interface WriteMessage {
  readonly flakeAddress: number
  readonly id: string
  readonly serviceIdentifier: string
  readonly updates: readonly { readonly propId: number; readonly value: unknown }[]
}

export interface Execution {
  readonly id: string
  /** The device's address at that time. */
  readonly address: number
  readonly updates: WriteMessage['updates']
  readonly results: readonly Result[]
  /** The new values were reported on the same connection before each answer. */
  isReportedFirst: boolean
}

interface Place {
  /** False if it cannot be sent now. */
  reports(updates: readonly Update[]): boolean
  answers(message: object): void
  /** A write arrived under a new id. */
  written(updates: WriteMessage['updates']): void
}

const behaviors = ['answers', 'is slow', 'refuses', 'is silent', 'answers twice', 'leaves out one', 'is torn'] as const

/**
 * The writable part of a device: depending on its behavior it answers at once, late, never, twice, or in parts. It remembers
 * executed writes by id, also over reboots, and executes none twice. Contract 7, WRITE and RESULT.
 */
export class Heater {
  isOffered: boolean
  readonly executions: Execution[] = []
  readonly #random: SeededRandom
  readonly #place: Place
  readonly #hasInitialValue: boolean
  #behavior: (typeof behaviors)[number]
  #degrees = 5
  #late: { readonly execution: Execution; readonly results: readonly Result[] }[] = []
  /** The number of HELLOs: frames before one may have been lost. */
  #generation = 0
  readonly #reportedIn = new Map<Execution, number>()

  constructor(random: SeededRandom, place: Place) {
    this.#random = random
    this.#place = place
    this.isOffered = random.next() < 0.85
    this.#hasInitialValue = random.next() < 0.5
    this.#behavior = this.#randomBehavior()
  }

  get owesAnswers(): boolean {
    return this.#late.length > 0
  }

  get declaration(): readonly object[] {
    if (!this.isOffered) return []
    const initial = this.#hasInitialValue ? { value: this.#degrees } : {}
    return [
      {
        serviceIdentifier: heaterService,
        properties: [
          { propId: degreesId, type: 'FLOAT', ...initial },
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
    if (this.#random.next() < 0.1) this.#behavior = this.#randomBehavior()
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

  received(message: WriteMessage): void {
    const before = this.executions.find((execution) => execution.id === message.id)
    const execution = before ?? this.#execute(message)
    const { results } = execution
    const some = results.slice(1)
    switch (this.#behavior) {
      case 'answers':
      case 'refuses':
        this.#answer(execution, results)
        break
      case 'is slow':
        this.#late.push({ execution, results })
        break
      case 'is silent':
        break
      case 'answers twice':
        this.#answer(execution, results)
        this.#answer(execution, results)
        break
      case 'leaves out one':
        if (some.length > 0) this.#answer(execution, some)
        break
      case 'is torn':
        if (some.length > 0) this.#answer(execution, some)
        this.#late.push({ execution, results })
    }
  }

  /** Sends the answers that are late. */
  answerLate(): void {
    const late = this.#late
    this.#late = []
    for (const { execution, results } of late) this.#answer(execution, results)
  }

  #execute({ flakeAddress: address, id, updates }: WriteMessage): Execution {
    const isRefused = this.#behavior === 'refuses' || this.#random.next() < 0.1
    const results = updates.map(({ propId }): Result => {
      return isRefused ? { propId, status: 'REJECTED', message: `not ${id}` } : { propId, status: 'OK' }
    })
    const execution: Execution = { id, address, updates, results, isReportedFirst: false }
    this.executions.push(execution)
    this.#place.written(updates)
    if (isRefused || this.#random.next() < 0.3) return execution
    const numbers = updates.filter(({ propId }) => propId === targetId || propId === fanId)
    execution.isReportedFirst = numbers.length > 0 && this.#place.reports(numbers)
    this.#reportedIn.set(execution, this.#generation)
    return execution
  }

  #answer(execution: Execution, results: readonly Result[]): void {
    if (this.#reportedIn.get(execution) !== this.#generation) execution.isReportedFirst = false
    this.#place.answers({ type: 'RESULT', id: execution.id, results })
  }

  #randomBehavior() {
    return behaviors[this.#random.below(behaviors.length)] ?? 'answers'
  }
}

/** The target value of a write, which identifies it. */
export function targetOf({ updates }: Pick<Execution, 'updates'>): number | undefined {
  return targetIn(updates)?.value as number | undefined
}

export function targetIn(updates: Execution['updates']): Execution['updates'][number] | undefined {
  return updates.find(({ propId }) => propId === targetId || propId === fanId)
}
