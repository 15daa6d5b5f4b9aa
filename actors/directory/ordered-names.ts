import { partitionPoint } from '#model/partition-point'

/** A run of more names is split, so adding a name moves at most this number of names. */
const runMax = 512

/**
 * Names in order without duplicates, for reading page by page while names are added and removed. Stored in runs that
 * are short enough to be changed in a microsecond. In one list of a hundred thousand names each insertion would move
 * half of them, and sorting on demand would block the loop for a tenth of a second.
 */
export class OrderedNames {
  /** Each run is sorted and follows the previous one; none is empty. */
  readonly #runs: string[][] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Does nothing if the name exists. */
  add(name: string): void {
    const place = this.#placeOfRun(name)
    const run = this.#runs[place]
    if (!run) {
      this.#runs.push([name])
      this.#size++
      return
    }
    const at = partitionPoint(run.length, (index) => (run[index] as string) < name)
    if (run[at] === name) return
    run.splice(at, 0, name)
    this.#size++
    if (run.length > runMax) this.#runs.splice(place + 1, 0, run.splice(runMax / 2))
  }

  delete(name: string): void {
    const place = this.#placeOfRun(name)
    const run = this.#runs[place] ?? []
    const at = partitionPoint(run.length, (index) => (run[index] as string) < name)
    if (run[at] !== name) return
    run.splice(at, 1)
    this.#size--
    if (run.length === 0) this.#runs.splice(place, 1)
  }

  /** The first names after the given one, which need not exist. '' sorts before all names. */
  after(name: string, countMax: number): readonly string[] {
    const found: string[] = []
    for (let place = this.#placeOfRun(name); place < this.#runs.length && found.length < countMax; place++) {
      const run = this.#runs[place] as string[]
      const from = partitionPoint(run.length, (index) => (run[index] as string) <= name)
      found.push(...run.slice(from, from + countMax - found.length))
    }
    return found
  }

  /** Index of the run that contains, or would contain, the name. */
  #placeOfRun(name: string): number {
    return Math.max(0, partitionPoint(this.#runs.length, (index) => (this.#runs[index]?.[0] as string) <= name) - 1)
  }
}
