/** What something was asked to be. `until`: the moment since when something later holds. */
export interface Version<T> {
  readonly value: T
  readonly from: number
  until: number
  /** `never`: it was refused, or lost before it was stored. */
  fate: 'asked' | 'stored' | 'never'
}

/** Something that is changed by many, in the order in which they ask; of what was asked for, any may hold. */
export class Register<T> {
  #versions: readonly Version<T>[]

  constructor(value: T) {
    this.#versions = [{ value, from: 0, until: Number.POSITIVE_INFINITY, fate: 'stored' }]
  }

  /** What it is, unless that is open. */
  get certain(): T | undefined {
    const [version, ...others] = this.#versions.filter(({ until }) => until === Number.POSITIVE_INFINITY)
    return others.length === 0 && version?.fate === 'stored' ? version.value : undefined
  }

  /** All that may have held at some moment from then to now. */
  since(from: number): readonly Version<T>[] {
    return this.#versions.filter(({ until }) => until >= from)
  }

  ask(value: T, moment: number): Version<T> {
    const version: Version<T> = { value, from: moment, until: Number.POSITIVE_INFINITY, fate: 'asked' }
    this.#versions = [...this.#versions, version]
    return version
  }

  stored(version: Version<T>, moment: number): void {
    version.fate = 'stored'
    const place = this.#versions.indexOf(version)
    for (const earlier of this.#versions.slice(0, place)) earlier.until = Math.min(earlier.until, moment)
  }

  refused(version: Version<T>): void {
    version.fate = 'never'
    this.#versions = this.#versions.filter((other) => other !== version)
  }

  /** What it was found to be when nobody asked for anything any more. Nothing else is remembered. */
  found(value: T): void {
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
