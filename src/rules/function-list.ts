import type { PropertyState } from '#model/entry'
import type { StoredFunction } from '#model/function'
import type { EmailNode, GraphNode } from '#model/graph'
import type { JsonObject } from '#model/json-value'
import type { Shape } from '#model/shape'
import type { StoredTemplate } from '#model/template'
import type { RequestRate } from '#rules/request-rate'

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

/** The graph of one function, compiled: one for all devices. */
export interface RunGraph {
  /** Of the function. */
  readonly id: string
  /** `trigger`: its place among the nodes. Whatever its `to` says: whoever calls has asked `fits`. */
  run(trigger: number, happening: Happening, sink: RunSink, trace?: RunTrace): void
  /** Whether that trigger waits for this value. */
  fits(trigger: number, value: Happened): boolean
}

export interface FunctionRule {
  /** Of the function. */
  readonly id: string
  readonly graph: RunGraph
  /** How many requests may be kept of it. */
  readonly rate: Pick<RequestRate, 'mayTake' | 'take'>
  /** Keys of its stamps. */
  readonly throttles: ReadonlySet<string>
  /** The resource name of whoever edited it last. */
  readonly author: string
}

export interface ShapedTrigger {
  readonly rule: FunctionRule
  /** Its place among the nodes. */
  readonly trigger: number
}

/** Triggers of functions by one author. `author`: their place among those of the list. */
export interface AuthorTriggers {
  readonly author: number
  readonly triggers: readonly ShapedTrigger[]
}

/** The functions bound to one device. Never changed, and shared by all that are bound to the same ones. */
export interface FunctionList {
  readonly rules: readonly FunctionRule[]
  /** How many people its functions are by. */
  readonly authorCount: number
  /** The triggers that wait for a property, by its place in the shape; undefined where none waits for any. */
  of(shape: Shape): readonly (readonly AuthorTriggers[] | undefined)[] | undefined
  ofAlarm(alarm: string): readonly AuthorTriggers[]
  readonly ofStatus: readonly AuthorTriggers[]
  /** Whether its author may read what people recorded about the device. */
  mayReadMeta(rule: FunctionRule): boolean
}

/** Of devices that no function is bound to. */
export const noFunctions: FunctionList = {
  rules: [],
  authorCount: 0,
  of: () => undefined,
  ofAlarm: () => [],
  ofStatus: [],
  mayReadMeta: () => false,
}

/** Of one tenant, where at least one function is enabled. */
export interface TenantFunctions {
  /** Another when any list may be another. */
  readonly version: number
  listOf(device: string): FunctionList
}

/** Since the process started. */
export interface FunctionCounts {
  runs: number
  /** Conditions without an outcome. */
  errors: number
  requests: number
  /** Those that were only counted. */
  overflown: number
}

/** Requests that were one too many, until they are counted where the others are. */
export interface Overflows {
  add(tenant: string, fn: string, count: number): void
  /** And forgets them. */
  drain(): readonly { readonly tenant: string; readonly function: string; readonly count: number }[]
}

/** What is committed of functions, and nothing else: by this mails are sent. */
export interface PublishedFunctions {
  storedOf(tenant: string, fn: string): StoredFunction | undefined
  templateOf(tenant: string, name: string): StoredTemplate | undefined
  membersOf(tenant: string, group: string): readonly string[] | undefined
}
