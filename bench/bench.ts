/** One question with a number for an answer. */
export interface Bench {
  readonly question: string
  /** Starts what it needs, measures, says what came out, and leaves nothing behind. */
  run(print: (line: string) => void): Promise<void>
}
