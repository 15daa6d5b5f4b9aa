/**
 * The load did not get to reading for so long that the server told its dashboard less, as it has to. Something else had
 * the machine: what was measured says nothing.
 */
export class ReadTooSlowly extends Error {
  static readonly text = 'the load read too slowly to be told everything'

  constructor(gaps: number) {
    super(`${ReadTooSlowly.text}: offsets were left out ${gaps} times`)
  }

  /** Also of one that came from another process, as text. */
  static is(error: unknown): boolean {
    return error instanceof Error && error.message.includes(ReadTooSlowly.text)
  }
}
