import type { Entry } from '#model/entry'
import type { System } from '#runtime/system'

/** What is said in order with what was stored before it, and said as well when that could not be stored. */
export function afterGate({ gate }: System<Entry>, leave: () => void): void {
  gate.say({ leave, refuse: leave })
}
