import { installingMsMax } from '#actors/update/machine'
import type { StoredUpdate, UpdateAttempts, UpdateContext } from '#actors/update/state'

/** An update as the first version of its machine stored it: of attempts the last one alone, and installing without an end. */
interface StoredUpdate1 extends Omit<StoredUpdate, 'context' | 'attempts'> {
  readonly context: Omit<UpdateContext, 'installsUntil'>
  readonly attempts: Omit<UpdateAttempts, 'by' | 'doneAt'> | null
}

/** Leads one up to the second version. */
export function fromVersion1(value: unknown): StoredUpdate {
  const { context, attempts, state, ...others } = value as StoredUpdate1
  // Whoever asked by hand since did not begin what is tried again.
  const by = context.by === 'post' ? 'connect' : context.by
  return {
    ...others,
    machine: 2,
    state,
    context: { ...context, installsUntil: state === 'installing' ? context.toldAt + installingMsMax : 0 },
    attempts: attempts ? [{ ...attempts, by, doneAt: null }] : [],
  }
}
