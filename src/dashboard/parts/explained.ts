import { statusOf } from '#dashboard/parts/problem-text'

/** A refusal in words that fit what was tried, where its status alone would say too little. */
export class Explained extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'Explained'
  }
}

type Words = string | ((said: string) => string | undefined)

/**
 * The same promise; where it is refused with one of these statuses, it says so in these words. They may depend on what the
 * server said (`the release is in use`); undefined leaves it as it is.
 */
export async function explained<Value>(work: Promise<Value>, by: Readonly<Record<number, Words>>): Promise<Value> {
  try {
    return await work
  } catch (problem) {
    const words = by[statusOf(problem) ?? 0]
    const text = typeof words === 'function' ? words(saidBy(problem)) : words
    throw text === undefined ? problem : new Explained(text, problem)
  }
}

/** What the server said, word for word. */
export function saidBy(problem: unknown): string {
  const { message } = (problem ?? {}) as { readonly message?: string }
  return message ?? ''
}
