import { Problem } from '#model/problem'
import { propertyTypes } from '#model/property-type'
import { type Shape, shapeOf } from '#model/shape'

/** Whether a reader accepted the bytes, or refused them with a documented error. */
export type Verdict = 'accepted' | 'refused'

/** A reader of bytes from outside. */
export interface Target {
  /** Valid bytes to mutate. */
  readonly seeds: readonly Uint8Array[]
  /** Reads the bytes as the server does, and keeps no state. @throws Error for a finding */
  fuzz(bytes: Uint8Array): Verdict | Promise<Verdict>
}

/**
 * Returns `refused` for a Problem with one of these codes (any code if none is given). @throws every other error, and a
 * Problem with a status from 500 or without a message
 */
export function refusing(task: () => void, ...codes: readonly Problem['code'][]): Verdict {
  try {
    task()
    return 'accepted'
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

/** Seeds from texts, and from JSON values as texts. */
export function seedsOf(...texts: readonly (string | object)[]): readonly Uint8Array[] {
  return texts.map((text) => Buffer.from(typeof text === 'string' ? text : JSON.stringify(text)))
}

/** A service with one property of each type, from 1. */
export const declared: Shape = shapeOf(
  'declared',
  'all-types',
  [...propertyTypes.values()].map((type, place) => ({ propId: place + 1, type, modifier: 0 })),
)
