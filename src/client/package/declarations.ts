/**
 * Types of the package without zod. The client computes its types from the schemas of the API; from this file the
 * compiler writes declarations that contain the results. In the package they replace `#client/route-table` and
 * everything of `#model`. This file never runs.
 */

/** Any JSON. The guide for applications describes the conditions of alarms and functions. */
export type Condition = null | boolean | number | string | readonly Condition[] | { readonly [key: string]: Condition }

type Expanded<T> = unknown extends T
  ? T
  : [import('#model/json-value').JsonValue] extends [T]
    ? Condition | Extract<T, undefined>
    : Boxed<T>['box']

/** Wraps each member of a union in an object: otherwise the compiler would write the name of the union. */
type Boxed<T> = T extends object ? { box: { [K in keyof T]: Expanded<T[K]> } } : T extends unknown ? { box: T } : never

/** The declaration of a constant without a written type contains its whole type. */
declare function expanded<T>(): Expanded<T>

const routes = expanded<import('#client/route-table').RouteTable>()
const streamEvent = expanded<import('#model/event').StreamEvent>()
const eventType = expanded<import('#model/event').EventType>()
const deviceStatus = expanded<import('#model/meta').DeviceStatus>()
const modifier = expanded<import('#model/property').Modifier>()
const propertyValue = expanded<import('#model/property-type').PropertyValue>()
const action = expanded<import('#model/scope').Action>()
const resource = expanded<import('#model/scope').Resource>()
const grant = expanded<import('#model/scope').Grant>()

export type RouteTable = typeof routes
export type StreamEvent = typeof streamEvent
export type EventType = typeof eventType
export type DeviceStatus = typeof deviceStatus
export type Modifier = typeof modifier
export type PropertyValue = typeof propertyValue
export type Action = typeof action
export type Resource = typeof resource
export type Grant = typeof grant
