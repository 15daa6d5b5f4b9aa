/** A requested value. `until`: the moment from which a later value holds. */
export interface Version<T> {
  readonly value: T
  readonly from: number
  until: number
  /** When the outcome was known, or when it was known that the request cannot take effect any more. */
  answered: number
  /** `never`: it was refused, or lost before it was stored. */
  fate: 'requested' | 'stored' | 'never'
}

/** A request with a key needs a commit before it changes anything: a request without a key may overtake it. */
export const unordered = { isInOrder: false }

/** A value with concurrent changes: any of the requested values may hold. */
export class Register<T> {
  readonly #isInOrder: boolean
  #versions: readonly Version<T>[]
  /** The moment of the last request or outcome. */
  #touched = 0

  /** `isInOrder`: changes take effect in the order of requests; otherwise only a request after an answer is ordered. */
  constructor(value: T, { isInOrder = true, moment = 0 } = {}) {
    this.#isInOrder = isInOrder
    this.#touched = moment
    this.#versions = [{ value, from: 0, until: Number.POSITIVE_INFINITY, answered: 0, fate: 'stored' }]
  }

  /** The value; undefined while the outcome of a request is open. */
  get certain(): T | undefined {
    const [version, ...others] = this.#versions.filter(({ until }) => until === Number.POSITIVE_INFINITY)
    return others.length === 0 && version?.fate === 'stored' ? version.value : undefined
  }

  /** Whether the value of that moment is certain and still the present one. */
  isSteadySince(moment: number): boolean {
    return this.certain !== undefined && this.#touched < moment
  }

  /** All values that may have held from then to now. */
  since(from: number): readonly Version<T>[] {
    return this.#versions.filter(({ until }) => until >= from)
  }

  request(value: T, moment: number): Version<T> {
    const never = Number.POSITIVE_INFINITY
    const version: Version<T> = { value, from: moment, until: never, answered: never, fate: 'requested' }
    this.#versions = [...this.#versions, version]
    this.#touched = moment
    return version
  }

  stored(version: Version<T>, moment: number): void {
    this.#touched = moment
    version.fate = 'stored'
    version.answered = moment
    const place = Math.max(0, this.#versions.indexOf(version))
    const earlier = this.#isInOrder
      ? this.#versions.slice(0, place)
      : this.#versions.filter(({ answered }) => answered < version.from)
    for (const other of earlier) other.until = Math.min(other.until, moment)
  }

  /** The outcome of these requests stays unknown, and none can take effect any more. Default: all open requests. */
  lost(moment: number, versions: readonly Version<T>[] = this.#versions): void {
    for (const version of versions) version.answered = Math.min(version.answered, moment)
  }

  refused(version: Version<T>): void {
    version.fate = 'never'
    this.#versions = this.#versions.filter((other) => other !== version)
  }

  /** Records the value that was found at rest, and forgets all others. */
  found(value: T, moment: number): void {
    if (this.certain === undefined) this.#touched = moment
    const text = JSON.stringify(value)
    const possible = this.#versions.filter(({ until }) => until === Number.POSITIVE_INFINITY)
    const place = possible.findLastIndex((version) => JSON.stringify(version.value) === text)
    const version = possible[place]
    if (!version) {
      throw new Error(`${text} is not one of ${JSON.stringify(possible.map((other) => other.value))}`)
    }
    for (const later of possible.slice(place + 1)) later.fate = 'never'
    version.fate = 'stored'
    this.#versions = [version]
  }
}
