import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'

/**
 * A long answer ends with the right to it. What has begun breaks off then, and says so by that; what has not is asked
 * for again, and hears why.
 *
 * @throws Problem `overloaded`
 */
export function checkCurrent(caller: Caller): void {
  if (!caller.isCurrent()) throw new Problem('overloaded', 'what the caller may read has changed meanwhile')
}
