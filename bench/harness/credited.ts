/**
 * Makes as many events as it was granted, all that are due in one go after the messages of this turn of the loop: what
 * is published within a message handler goes out one by one, a system call each.
 */
export class Credited {
  readonly #make: (events: number) => void
  #due = 0

  constructor(make: (events: number) => void) {
    this.#make = make
  }

  /** A message of the load: a count, as text. */
  grant(message: Uint8Array): void {
    if (this.#due === 0) setImmediate(() => this.#makeDue())
    this.#due += Number(Buffer.from(message).toString('latin1'))
  }

  #makeDue(): void {
    const events = this.#due
    this.#due = 0
    this.#make(events)
  }
}
