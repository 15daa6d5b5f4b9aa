/**
 * Set while uWebSockets.js reports a lost message. Ending or unsubscribing any socket then kills the process (SIGBUS,
 * every time), so all such calls are refused until the report ends.
 */
export class DropReport {
  #isOn = false

  /** Throws during a report: a socket room may only set state then. */
  refuse(what: string): void {
    if (this.#isOn) throw new Error(`${what} inside dropped: a socket room may only set state there`)
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
