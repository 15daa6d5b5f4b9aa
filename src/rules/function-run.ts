import type { PropertyState } from '#model/entry'
import type { EmailNode, GraphNode } from '#model/graph'
import type { JsonObject } from '#model/json-value'

/** The value of an event: a property value, an alarm's state, or a status. */
export type TriggerValue = PropertyState | boolean

/** The input of a run. One object, reused for each, because runs are synchronous. */
export interface RunInput {
  value: TriggerValue
  /** Null: there was none. */
  previous: TriggerValue
  device: string
  /** Unix ms, of the server. */
  time: number
  /** Called only if a condition reads it. Null: the author may not, see `mayReadMeta`. */
  meta: () => JsonObject | null
  /** When a throttle last let something of this device through, Unix ms. `key`: `<functionId>/<nodeId>`. */
  passedAt: (key: string) => number | undefined
}

/** Receives the results of a run. */
export interface RunSink {
  stamped(key: string): void
  reached(node: EmailNode): void
  /** A condition had no result. */
  failed(): void
}

/** For tests of a function by its author: the steps of a run, in order. */
export interface RunTrace {
  entered(node: GraphNode): void
  /** `because`: `false`, `no value: <name>`, `error`, `throttled`. */
  stopped(node: GraphNode, because: string): void
}
