import type { Option } from 'commander'

export interface Outcome {
  /** The value of `--seed` that repeats the run. */
  readonly seed: number
  readonly seconds: number
  /** Attempts and findings, for the report. */
  readonly summary: readonly string[]
  /** Broken guarantees; empty: all were kept. */
  readonly problems: readonly string[]
}

export interface Proof<Options = never> {
  readonly about: string
  readonly help: string
  /** In addition to `--seed`. */
  readonly options: readonly Option[]
  run(options: Options & { readonly seed: number }, print: (line: string) => void): Promise<Outcome>
}
