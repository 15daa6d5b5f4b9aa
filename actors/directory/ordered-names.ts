/** Names of one run: so many are moved at most when one more comes in among them. */
const runMax = 512

/**
 * Names in order, each once, for who reads them a page at a time while others come and go. They lie in runs that are short
 * enough to be changed in a microsecond: in one long list of a hundred thousand each new name would move half of them, and
 * putting them in order when they are asked for would hold the loop for a tenth of a second.
 */
export class OrderedNames {
  /** Each in order, and each behind the one before; none is empty. */
  readonly #runs: string[][] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  /** One that is there already stays. */
  add(name: string): void {
    const place = this.#placeOfRun(name)
    const run = this.#runs[place]
    if (!run) {
      this.#runs.push([name])
      this.#size++
      return
    }
    const at = countOf(run.length, (index) => (run[index] as string) < name)
    if (run[at] === name) return
    run.splice(at, 0, name)
    this.#size++
    if (run.length > runMax) this.#runs.splice(place + 1, 0, run.splice(runMax / 2))
  }

  delete(name: string): void {
    const place = this.#placeOfRun(name)
    const run = this.#runs[place] ?? []
    const at = countOf(run.length, (index) => (run[index] as string) < name)
    if (run[at] !== name) return
    run.splice(at, 1)
    this.#size--
    if (run.length === 0) this.#runs.splice(place, 1)
  }

  /** The first ones behind a name, which need not be there. '' stands before all. */
  after(name: string, countMax: number): readonly string[] {
    const found: string[] = []
    for (let place = this.#placeOfRun(name); place < this.#runs.length && found.length < countMax; place++) {
      const run = this.#runs[place] as string[]
      const from = countOf(run.length, (index) => (run[index] as string) <= name)
      found.push(...run.slice(from, from + countMax - found.length))
    }
    return found
  }

  /** Of the run in which the name is, or would be. */
  #placeOfRun(name: string): number {
    return Math.max(0, countOf(this.#runs.length, (index) => (this.#runs[index]?.[0] as string) <= name) - 1)
  }
}

/** How many come before the first for which it does not hold: it holds for none behind that. */
function countOf(length: number, holds: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) low = middle + 1
    else high = middle
  }
  return low
}
