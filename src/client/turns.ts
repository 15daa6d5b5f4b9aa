/** One after the other, in the order in which they came. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  take<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(run)
    // Whoever comes next has his turn also behind one that failed.
    this.#last = turn.catch(() => {})
    return turn
  }
}
