/** What something was asked to be. `until`: the moment since when something later holds. */
export interface Version<T> {
  readonly value: T
  readonly from: number
  until: number
  /** When it was known how it went, at least that no more comes of it. */
  answered: number
  /** `never`: it was refused, or lost before it was stored. */
  fate: 'asked' | 'stored' | 'never'
}

/** Something that is changed by many; of what was asked for, any may hold. */
export class Register<T> {
  readonly #isInOrder: boolean
  #versions: readonly Version<T>[]
  /** When anything was last asked, or known of what was asked. */
  #touched = 0

  /** `isInOrder`: changes come in the order in which they are asked for; else only those behind an answer are behind it. */
  constructor(value: T, { isInOrder = true, moment = 0 } = {}) {
    this.#isInOrder = isInOrder
    this.#touched = moment
    this.#versions = [{ value, from: 0, until: Number.POSITIVE_INFINITY, answered: 0, fate: 'stored' }]
  }

  /** What it is, unless that is open. */
  get certain(): T | undefined {
    const [version, ...others] = this.#versions.filter(({ until }) => until === Number.POSITIVE_INFINITY)
    return others.length === 0 && version?.fate === 'stored' ? version.value : undefined
  }

  /** Whether it is what it was at that moment, without anything asked since, and that was certain by then. */
  isSteadySince(moment: number): boolean {
    return this.certain !== undefined && this.#touched < moment
  }

  /** All that may have held at some moment from then to now. */
  since(from: number): readonly Version<T>[] {
    return this.#versions.filter(({ until }) => until >= from)
  }

  ask(value: T, moment: number): Version<T> {
    const never = Number.POSITIVE_INFINITY
    const version: Version<T> = { value, from: moment, until: never, answered: never, fate: 'asked' }
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

  /** Nobody knows how these went, and no more comes of them: of all that are open, when none is named. */
  lost(moment: number, versions: readonly Version<T>[] = this.#versions): void {
    for (const version of versions) version.answered = Math.min(version.answered, moment)
  }

  refused(version: Version<T>): void {
    version.fate = 'never'
    this.#versions = this.#versions.filter((other) => other !== version)
  }

  /** What it was found to be when nobody asked for anything any more. Nothing else is remembered. */
  found(value: T, moment: number): void {
    if (this.certain === undefined) this.#touched = moment
    const text = JSON.stringify(value)
    const possible = this.#versions.filter(({ until }) => until === Number.POSITIVE_INFINITY)
    const place = possible.findLastIndex((version) => JSON.stringify(version.value) === text)
    const version = possible[place]
    if (!version) {
      throw new Error(`${text} is none of ${JSON.stringify(possible.map((other) => other.value))}`)
    }
    for (const later of possible.slice(place + 1)) later.fate = 'never'
    version.fate = 'stored'
    this.#versions = [version]
  }
}
