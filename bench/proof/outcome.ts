/** What came of one proof. */
export interface Outcome {
  /** To repeat it with: `--seed`. */
  readonly seed: number
  readonly seconds: number
  /** For people: what was tried, and what was found. */
  readonly said: readonly string[]
  /** Each a promise that was broken, in words; none: all were kept. */
  readonly problems: readonly string[]
}

export interface Proof {
  /** One line. */
  readonly about: string
  readonly help: string
  /** @throws RangeError for options that mean nothing */
  run(args: readonly string[], print: (line: string) => void): Promise<Outcome>
}

/** The option that every proof takes. */
export const seedOption = { seed: { type: 'string', default: '' } } as const

/** As it was given, or by the clock. */
export function seedFrom(text: string): number {
  return text === '' ? Date.now() % 1_000_000_000 : positive('seed', text)
}

export function positive(name: string, text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1) throw new RangeError(`--${name}: a positive integer; got '${text}'`)
  return number
}
