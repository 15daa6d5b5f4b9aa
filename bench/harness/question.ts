import type { CaseResult } from '#bench/harness/measure'

export type Figures = Readonly<Record<string, number>>

export interface FigureForm {
  readonly title: string
  readonly digits: number
  /** Compared with the baseline's: the ratio of the two of the same round. */
  readonly isCompared?: boolean
  /** So much a second, or a wait for it: where the load was full, that says what the load can do, and not the server. */
  readonly isOfLoad?: boolean
}

/** What the load used of a core is called so in every question, in per cent. */
export const loadFigure = 'loadCpu'
/** From here on a load may have been the limit itself: its thread has hardly a moment without something to do. */
export const loadFullPercent = 90

/** One way to do the same thing: the bare loop, our server, our server otherwise set. */
export interface Variant {
  readonly name: string
  /** Starts what it needs in fresh processes, measures, and leaves nothing behind. */
  measure(round: Round): Promise<Figures>
}

/** Variants that are measured in turn, again and again, and compared with each other round by round. */
export interface Case {
  readonly name: string
  readonly variants: readonly Variant[]
  /** The name of the variant that others are compared with. */
  readonly baseline?: string
  /** At most so many rounds, where this one takes much longer than the others. */
  readonly roundsMax?: number
}

/** What has to be reached: a figure, or its ratio to the baseline's. */
export interface Target {
  readonly case: string
  readonly variant: string
  readonly figure: string
  /**
   * Judged instead, by the same bounds, where the load was full with this variant or with the baseline: what a second of
   * the server's CPU buys, where what a second buys is not the server's to say.
   */
  readonly whenLoadIsFull?: string
  readonly isRatio?: boolean
  /** Another variant than the baseline, which the ratio is to. */
  readonly comparedWith?: string
  readonly atLeast?: number
  readonly atMost?: number
}

export interface Round {
  readonly number: number
  /** Shorter times, for trying the benches themselves: figures mean nothing. */
  readonly isQuick: boolean
  /** A figure measured before: of this round if there is one, else the median of the others. Throws when there is none. */
  earlier(caseName: string, variant: string, figure: string): number
}

/** Of a report: a part of its Markdown, and files that lie beside it, by their names. */
export interface Beside {
  readonly markdown: string
  readonly files: Readonly<Record<string, string>>
}

/** A question with figures for an answer. The first line of its file says what it answers and what it does not count. */
export interface Question {
  readonly figures: Readonly<Record<string, FigureForm>>
  readonly cases: readonly Case[]
  readonly targets: readonly Target[]
  /** Why it can't be measured on this machine; absent where it can. */
  readonly leftOut?: string | undefined
  /** Rounds where they are expensive; default 5. */
  readonly rounds?: number
  /** What stands in the report behind the figures. */
  beside?(results: readonly CaseResult[]): Beside
  /** Before the first round; answers how to take it away again. */
  setUp?(isQuick: boolean): Promise<() => Promise<void>>
}
