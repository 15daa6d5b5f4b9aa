import { Problem } from '#model/problem'

/** What became of some bytes: they came through all that reads them, or were refused as is promised. */
export type Verdict = 'taken' | 'refused'

/** A reader of what comes from outside, as bytes are tried on it. */
export interface Target {
  /** One line. */
  readonly about: string
  /** What is taken, to begin with. */
  readonly seeds: readonly Uint8Array[]
  /** What it understands beside the words of these. */
  readonly words?: readonly string[]
  /** As the server does it. Looks at nothing but its bytes. @throws what nobody promised: a finding */
  fuzz(bytes: Uint8Array): Verdict
}

/** What a task takes, or refuses with a Problem of one of these codes, if any are named. @throws anything else that it throws */
export function refusing(task: () => void, ...codes: readonly Problem['code'][]): Verdict {
  try {
    task()
    return 'taken'
  } catch (error) {
    if (!(error instanceof Problem) || (codes.length > 0 && !codes.includes(error.code))) throw error
    if (error.kind.status >= 500 || error.message === '') throw new Error('refused without a reason', { cause: error })
    return 'refused'
  }
}

/** @throws Error, which is a finding */
export function expectThat(isSo: boolean, message: string): void {
  if (!isSo) throw new Error(message)
}

/** Texts as they are sent. */
export function seedsOf(...texts: readonly (string | object)[]): readonly Uint8Array[] {
  return texts.map((text) => Buffer.from(typeof text === 'string' ? text : JSON.stringify(text)))
}
