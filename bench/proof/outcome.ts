import { parseArgs } from 'node:util'

export interface Outcome {
  /** For `--seed`, to repeat the run. */
  readonly seed: number
  readonly seconds: number
  /** Attempts and findings, for the report. */
  readonly summary: readonly string[]
  /** Broken guarantees; empty: all were kept. */
  readonly problems: readonly string[]
}

export interface Proof {
  readonly about: string
  readonly help: string
  /** @throws RangeError for invalid options */
  run(args: readonly string[], print: (line: string) => void): Promise<Outcome>
}

export const seedOption = { seed: { type: 'string', default: '' } } as const

/** The given seed, or one from the clock. */
export function seedFrom(text: string): number {
  return text === '' ? Date.now() % 1_000_000_000 : positive('seed', text)
}

/** The options of a proof that only has positive integers, and its seed. `defaults`: by name. */
export function integersFrom<Name extends string>(
  args: readonly string[],
  defaults: Readonly<Record<Name, number>>,
): Readonly<Record<Name | 'seed', number>> {
  const named = Object.keys(defaults).map((name) => [name, { type: 'string' }] as const)
  const { values } = parseArgs({ args: [...args], options: { ...seedOption, ...Object.fromEntries(named) } })
  const given = Object.entries(values).map(([name, text]) => [
    name,
    name === 'seed' ? seedFrom(text) : positive(name, text),
  ])
  return { ...defaults, ...Object.fromEntries(given) }
}

export function positive(name: string, text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1) throw new RangeError(`--${name}: a positive integer; got '${text}'`)
  return number
}
