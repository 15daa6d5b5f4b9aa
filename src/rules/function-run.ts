import type { PropertyState } from '#model/entry'
import type { EmailNode, GraphNode } from '#model/graph'
import type { JsonObject } from '#model/json-value'

/** What happened: values of a property, whether an alarm is active, a status. */
export type Happened = PropertyState | boolean

/** What a run sees. One object, filled anew for each: a run is synchronous. */
export interface Happening {
  value: Happened
  /** Null: there was none. */
  previous: Happened
  device: string
  /** Unix ms, the server's. */
  time: number
  /** Asked only when a condition reads it. Null: the author may not, see `mayReadMeta`. */
  meta: () => JsonObject | null
  /** When a throttle last let something of this device through, Unix ms. `key`: `<functionId>/<nodeId>`. */
  passedAt: (key: string) => number | undefined
}

/** What came of a run; not touched where nothing did. */
export interface RunSink {
  stamped(key: string): void
  reached(node: EmailNode): void
  /** A condition had no outcome. */
  failed(): void
}

/** For trying out: what a run did, in its order. */
export interface RunTrace {
  entered(node: GraphNode): void
  /** `because`: `false`, `no value: <name>`, `error`, `throttled`. */
  stopped(node: GraphNode, because: string): void
}
