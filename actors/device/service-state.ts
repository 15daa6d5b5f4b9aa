import type { PropertyState } from '#model/entry'
import type { Shape } from '#model/shape'

/** Numbers kept of each property: what it stands at, since when (Unix ms), and by which entry's offset. */
const perProperty = 3
const timePlace = 1
const offsetPlace = 2

/** Stands where a property is at no number: no property is ever at this one. */
const noNumber = Number.NaN

/**
 * A service as declared, with what its properties stand at.
 *
 * There are millions of them, and most are numbers: those lie in one array of nothing but numbers, 8 bytes each. In an
 * array that holds anything else too every number would be an object of its own. What is no number lies beside it.
 */
export class ServiceState {
  readonly shape: Shape
  readonly #numbers: number[]
  #others: PropertyState[] | undefined

  /** As stored: the three lists of `states`, `times` and `offsets`; without them nothing was said of it yet. */
  constructor(shape: Shape, states?: readonly PropertyState[], times?: readonly number[], offsets?: readonly number[]) {
    const { length } = shape.properties
    this.shape = shape
    // At once as long as it gets: one that grows keeps room for more.
    this.#numbers = new Array<number>(length * perProperty).fill(noNumber)
    this.#others = undefined
    for (let index = 0; index < length; index++) {
      this.set(index, states?.[index] ?? null, times?.[index] ?? 0, offsets?.[index] ?? 0)
    }
  }

  /** Null: declared and never heard of. */
  stateOf(index: number): PropertyState {
    const number = this.#numbers[index * perProperty] as number
    return Number.isNaN(number) ? (this.#others?.[index] ?? null) : number
  }

  /** Unix ms; 0 for never reported. */
  timeOf(index: number): number {
    return this.#numbers[index * perProperty + timePlace] as number
  }

  /** The entry that said so last: an earlier one need not be told to who was away. 0 for none. */
  offsetOf(index: number): number {
    return this.#numbers[index * perProperty + offsetPlace] as number
  }

  set(index: number, state: PropertyState, time: number, offset: number): void {
    this.setState(index, state)
    this.setTime(index, time)
    this.setOffset(index, offset)
  }

  setTime(index: number, time: number): void {
    this.#numbers[index * perProperty + timePlace] = time
  }

  setOffset(index: number, offset: number): void {
    this.#numbers[index * perProperty + offsetPlace] = offset
  }

  setState(index: number, state: PropertyState): void {
    const isNumber = typeof state === 'number'
    this.#numbers[index * perProperty] = isNumber ? state : noNumber
    if (this.#others) this.#others[index] = isNumber ? null : state
    else if (!isNumber && state !== null) this.#others = othersWith(this.shape, index, state)
  }

  /** Another one that stands at the same. */
  copy(): ServiceState {
    return new ServiceState(this.shape, this.states(), this.times(), this.offsets())
  }

  /** A list of what every property stands at; likewise the next two. */
  states(): PropertyState[] {
    return this.shape.properties.map((_, index) => this.stateOf(index))
  }

  times(): number[] {
    return this.shape.properties.map((_, index) => this.timeOf(index))
  }

  offsets(): number[] {
    return this.shape.properties.map((_, index) => this.offsetOf(index))
  }
}

/** No method: a private one would cost each service a word. */
function othersWith({ properties }: Shape, index: number, state: PropertyState): PropertyState[] {
  return properties.map((_, place) => (place === index ? state : null))
}
