import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'

/**
 * A long answer ends when the caller loses the right to it. A started answer breaks off, so the client notices.
 * Otherwise the client has to repeat the request and gets the reason.
 *
 * @throws Problem `overloaded`
 */
export function checkCurrent(caller: Caller): void {
  if (!caller.isCurrent()) throw new Problem('overloaded', 'the access rights changed during the answer: try again')
}
