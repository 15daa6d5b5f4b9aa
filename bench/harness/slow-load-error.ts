/**
 * The load read too slowly, so the server dropped events for its dashboard. Other processes used the machine: the
 * measurement is invalid.
 */
export class SlowLoadError extends Error {
  static readonly text = 'the load read too slowly to receive every event'

  constructor(gaps: number) {
    super(`${SlowLoadError.text}: offsets were left out ${gaps} times`)
  }

  /** True also for an error that came from another process as text. */
  static is(error: unknown): boolean {
    return error instanceof Error && error.message.includes(SlowLoadError.text)
  }
}
