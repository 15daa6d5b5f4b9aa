import { memoryOf } from '#actors/device/value-memory'
import type { Items, PropertyState } from '#model/entry'
import type { Shape } from '#model/shape'

/** Numbers stored for each property: its value, the time of the value (Unix ms), and the offset of its entry. */
const perProperty = 3
const timePlace = 1
const offsetPlace = 2

/** Marks a property whose value is not a number. No value of a property is NaN. */
const noNumber = Number.NaN

/**
 * A declared service and the values of its properties.
 *
 * There are millions of values, and most are numbers. Numbers are stored in one array of only numbers, 8 bytes each; in
 * a mixed array, V8 would allocate an object for every number. All other values are in a second array, whose last
 * element is the number of bytes that they use; a separate field would cost each service a word.
 */
export class ServiceState {
  readonly shape: Shape
  readonly #numbers: number[]
  #others: PropertyState[] | undefined

  /** Stored form: the three lists of `states`, `times` and `offsets`; without them no property has a value. */
  constructor(shape: Shape, states?: readonly PropertyState[], times?: readonly number[], offsets?: readonly number[]) {
    const { length } = shape.properties
    this.shape = shape
    // Allocated with the final length, because a growing array reserves more.
    this.#numbers = new Array<number>(length * perProperty).fill(noNumber)
    this.#others = undefined
    for (let index = 0; index < length; index++) {
      this.set(index, states?.[index] ?? null, times?.[index] ?? 0, offsets?.[index] ?? 0)
    }
  }

  /** Null: the property has no value. */
  stateOf(index: number): PropertyState {
    const number = this.#numbers[index * perProperty] as number
    return Number.isNaN(number) ? (this.#others?.[index] ?? null) : number
  }

  /** Unix ms; 0 for a property without a value. */
  timeOf(index: number): number {
    return this.#numbers[index * perProperty + timePlace] as number
  }

  /** Offset of the last entry that set the property, 0 for none. Clients that catch up can skip its earlier values. */
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
    if (this.#others) setOther(this.#others, index, isNumber ? null : state)
    else if (!isNumber && state !== null) this.#others = othersWith(this.shape, index, state)
  }

  /** Bytes used by values of variable size, in addition to the fixed bytes of each property. */
  get valueBytes(): number {
    return this.#others ? (this.#others[this.#others.length - 1] as number) : 0
  }

  /** How much these items change `valueBytes`; of several items of one property the last one counts. */
  growthBy(items: Items): number {
    const others = this.#others
    for (let at = 0; at < items.length; at += 2) {
      const isNumber = typeof items[at + 1] === 'number'
      if (!isNumber || (others && others[items[at] as number] !== null)) return growthOf(others, items)
    }
    return 0
  }

  copy(): ServiceState {
    const copied = new ServiceState(this.shape)
    for (let at = 0; at < this.#numbers.length; at++) copied.#numbers[at] = this.#numbers[at] as number
    copied.#others = this.#others?.slice()
    return copied
  }

  /** The values of all properties in order; `times` and `offsets` have the same order. */
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

/** Not a method: a private method would cost each service a word. */
function othersWith({ properties }: Shape, index: number, state: PropertyState): PropertyState[] {
  const others: PropertyState[] = new Array<PropertyState>(properties.length + 1).fill(null)
  others[index] = state
  others[properties.length] = memoryOf(state)
  return others
}

function setOther(others: PropertyState[], index: number, state: PropertyState): void {
  const before = others[index] as PropertyState
  if (before === null && state === null) return
  const last = others.length - 1
  others[last] = (others[last] as number) + memoryOf(state) - memoryOf(before)
  others[index] = state
}

function growthOf(others: readonly PropertyState[] | undefined, items: Items): number {
  const seen = new Set<number>()
  let growth = 0
  for (let at = items.length - 2; at >= 0; at -= 2) {
    const index = items[at] as number
    if (seen.has(index)) continue
    seen.add(index)
    growth += memoryOf(items[at + 1] as PropertyState) - memoryOf(others?.[index] ?? null)
  }
  return growth
}
