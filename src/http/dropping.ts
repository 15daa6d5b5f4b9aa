/**
 * Set while uWebSockets.js reports a lost message. Ending or unsubscribing any socket in there kills the process
 * (SIGBUS, every time), so the port refuses everything until the report is over.
 */
export class Dropping {
  #isOn = false

  /** Throws inside a report: a room may only remember there. */
  refuse(what: string): void {
    if (this.#isOn) throw new Error(`${what} inside dropped: a room may only remember there`)
  }

  during(task: () => void): void {
    this.#isOn = true
    try {
      task()
    } finally {
      this.#isOn = false
    }
  }
}
