import type { Post, PostedUpdate } from '#actors/device/commands'
import { newShapeCount } from '#actors/device/declaration'
import { deviceAddress } from '#actors/device/device'
import { type DeviceState, serviceOf } from '#actors/device/state'
import { isTenantActive } from '#actors/directory/queries'
import { tenantAddress } from '#actors/tenant/commands'
import { parseJson } from '#http/validation'
import { tooManyShapes } from '#link/declaration'
import type { LinkedDevice } from '#link/link'
import type { Links } from '#link/links'
import type { Entry } from '#model/entry'
import { timestampMsMax } from '#model/identifier'
import { isJsonObject } from '#model/json-value'
import { servicesMax } from '#model/link-message'
import { Problem } from '#model/problem'
import { type PropertyType, propertyTypeOf } from '#model/property-type'
import { schemaNameCharactersMax } from '#model/service-schema'
import type { InternShape, Shape, ShapeProperty } from '#model/shape'
import type { System } from '#runtime/system'

interface FreeReportsParts {
  readonly system: System<Entry>
  readonly links: Links
  readonly intern: InternShape
}

/** Telemetry and attributes have a schema each. Contract 10. */
export type FreeService = 'telemetry' | 'attributes'

/** A schema is stored, and sent to all its readers, at most once in this interval. */
const publishedEveryMs = 1_000
/** The weight of a message in the queue of commits, besides its bytes. */
const overheadBytes = 200

/**
 * Reports free-form JSON as properties of a device. A new name gets the next id of its service in the tenant. The
 * first value on a device decides the type of the property. Contract 10.
 */
export class FreeReports {
  readonly #parts: FreeReportsParts
  /**
   * When the names of a service were published last, or will be published next (World.monotonic), by
   * `<tenant>/<service>`.
   */
  readonly #published = new Map<string, number>()

  constructor(parts: FreeReportsParts) {
    this.#parts = parts
  }

  /** The ids of all names that devices of the tenant have sent for this service, by name. */
  idsOf(tenant: string, service: string): ReadonlyMap<string, number> {
    return this.#parts.system.wake(tenantAddress(tenant)).jsonNames.get(service)?.ids ?? noIds
  }

  /**
   * Reports a message in one commit. Calls `refused` after the commit if the device refuses the report.
   * @throws Problem for a message that is refused before it reaches the device
   */
  report(
    { tenant, device }: LinkedDevice,
    service: FreeService,
    times: readonly FreeValues[],
    bytes: number,
    refused: (problem: Problem) => void,
  ): void {
    const names = times.flatMap(({ values }) => values.map(([name]) => name))
    if (names.length === 0) return
    const { system, links } = this.#parts
    const state = system.wake(deviceAddress(tenant, device)) as DeviceState
    if (!serviceOf(state, service) && state.services.length >= servicesMax) {
      throw new Problem('conflict', `${device} has ${servicesMax} other services`)
    }
    this.#addNames(tenant, service, names)
    const ids = this.idsOf(tenant, service)
    const before = serviceOf(state, service)?.shape
    const shape = this.#shapeOf(service, before, times, ids)
    const post: Post = {
      type: 'post',
      session: undefined,
      seq: undefined,
      services: shape === before ? undefined : declared(state, shape),
      updates: updatesOf(shape, times, ids),
    }
    if (!links.declarations.take(tenant, device, newShapeCount(state, post.services ?? []))) {
      throw new Problem('too_many_requests', tooManyShapes(device))
    }
    links.counts.updates++
    links.counts.changes += names.length
    system.turn(deviceAddress(tenant, device), post, { answered: () => {}, refused }, bytes + overheadBytes)
    this.#publishNames(tenant, service)
  }

  /** @throws Problem if the tenant has too many names */
  #addNames(tenant: string, service: FreeService, names: readonly string[]): void {
    const known = this.idsOf(tenant, service)
    const added = names.filter((name) => !known.has(name))
    if (added.length === 0) return
    let problem: Problem | undefined
    const responder = {
      answered: () => {},
      refused: () => {},
      refusing: (refusal: Problem) => {
        problem = refusal
      },
    }
    // The turn runs synchronously, and the report is in the same commit.
    this.#parts.system.turn(tenantAddress(tenant), { type: 'add_json_names', service, names: added }, responder, 0)
    if (problem) throw problem
    const ids = this.idsOf(tenant, service)
    if (!added.every((name) => ids.has(name))) throw new Problem('conflict', 'the tenant has too many names in JSON')
  }

  #shapeOf(
    service: FreeService,
    before: Shape | undefined,
    times: readonly FreeValues[],
    ids: ReadonlyMap<string, number>,
  ): Shape {
    const added = new Map<number, ShapeProperty>()
    for (const { values } of times) {
      for (const [name, value] of values) {
        const propId = ids.get(name) as number
        if (before?.indexOf.has(propId) || added.has(propId)) continue
        added.set(propId, { propId, type: freeTypeOf(value), modifier: 0 })
      }
    }
    if (before && added.size === 0) return before
    const properties = [...(before?.properties ?? []), ...added.values()]
    return this.#parts.intern(
      service,
      properties.sort((a, b) => a.propId - b.propId),
    )
  }

  /** Publishes new names at once if none were published lately. Otherwise they are published later, together. */
  #publishNames(tenant: string, service: FreeService): void {
    const { system } = this.#parts
    const names = system.wake(tenantAddress(tenant)).jsonNames.get(service)
    if (!names || names.published === names.ids.size) return
    const key = `${tenant}/${service}`
    const now = system.world.monotonic()
    const last = this.#published.get(key)
    const publish = () => {
      if (!this.#parts.links.port.isOpen || !isTenantActive(system, tenant)) return
      this.#published.set(key, system.world.monotonic())
      system.turn(tenantAddress(tenant), { type: 'publish_json_names', service }, noAnswer, 0)
    }
    if (last === undefined || now - last >= publishedEveryMs) publish()
    else if (last <= now) {
      // A time in the future, so that no second publication is planned before this one.
      this.#published.set(key, last + publishedEveryMs)
      system.world.after(last + publishedEveryMs - now, publish)
    }
  }
}

const noAnswer = { answered: () => {}, refused: () => {} }
const noIds: ReadonlyMap<string, number> = new Map()

/** The shapes of all services of the device. `shape` replaces the shape of its service. */
function declared({ services }: DeviceState, shape: Shape): NonNullable<Post['services']> {
  const others = services.filter((service) => service.shape.serviceIdentifier !== shape.serviceIdentifier)
  return [...others.map((service) => service.shape), shape].map((each) => ({ shape: each, items: [] }))
}

/** A value that does not have the type of its property becomes an error of the property. */
function updatesOf(shape: Shape, times: readonly FreeValues[], ids: ReadonlyMap<string, number>): PostedUpdate[] {
  const { serviceIdentifier } = shape
  return times.flatMap(({ timestamp, values }) =>
    values.map(([name, value]) => {
      const propId = ids.get(name) as number
      const { type } = shape.properties[shape.indexOf.get(propId) as number] as ShapeProperty
      const isAccepted = type.accept(value) !== undefined
      const error = isAccepted ? {} : { error: `must be ${type.text}` }
      return { serviceIdentifier, propId, value, timestamp, ...error }
    }),
  )
}

/** JSON of devices that declare nothing: names with any values. Contract 10. */

/** An object or an array is represented by its JSON text. */
type FreeValue = boolean | number | string

/** Values with one timestamp. */
export interface FreeValues {
  /** Unix ms. Undefined means now. */
  readonly timestamp: number | undefined
  readonly values: readonly (readonly [name: string, value: FreeValue])[]
}

/** The limit of values in one message. Each value is compared with rules. */
const valuesMax = 2_048
const timesMax = 256

/** An object with any fields. @throws Problem `bad_request` */
export function readJsonObject(payload: Uint8Array): Readonly<Record<string, unknown>> {
  const json = parseJson(payload)
  if (!isJsonObject(json)) throw notValid('an object is needed')
  return json
}

/** Reads `{k: v}`, `{ts, values}`, or a list of both. @throws Problem `bad_request` */
export function telemetryOf(json: unknown): FreeValues[] {
  const list = Array.isArray(json) ? json : [json]
  if (list.length > timesMax) throw notValid(`more than ${timesMax} times`)
  const times = list.map((each) => {
    if (!isJsonObject(each)) throw notValid('values must be in an object')
    const { ts, values } = each
    if (ts === undefined || !isJsonObject(values)) return freeValues(undefined, each)
    if (!Number.isInteger(ts) || Number(ts) < 0 || Number(ts) > timestampMsMax) throw notValid('ts must be Unix ms')
    return freeValues(Number(ts), values)
  })
  return withinLimit(times)
}

/** Reads `{k: v}`. @throws Problem `bad_request` */
export function attributesOf(json: unknown): FreeValues[] {
  if (!isJsonObject(json)) throw notValid('values must be in an object')
  return withinLimit([freeValues(undefined, json)])
}

function withinLimit(times: FreeValues[]): FreeValues[] {
  let count = 0
  for (const { values } of times) count += values.length
  if (count > valuesMax) throw notValid(`more than ${valuesMax} values`)
  return times
}

/** The type of a property whose first value is `value`. */
function freeTypeOf(value: FreeValue): PropertyType {
  const name = typeof value === 'number' ? 'float64' : typeof value === 'boolean' ? 'bool' : 'string'
  return propertyTypeOf(name) as PropertyType
}

/** A name without a value (null) is left out. */
function freeValues(timestamp: number | undefined, object: Readonly<Record<string, unknown>>): FreeValues {
  const values: [string, FreeValue][] = []
  for (const [name, value] of Object.entries(object)) {
    if (value === null || value === undefined) continue
    if (name === '' || name.length > schemaNameCharactersMax || !name.isWellFormed()) {
      throw notValid(`a name must have 1 to ${schemaNameCharactersMax} characters`)
    }
    values.push([name, typeof value === 'object' ? JSON.stringify(value) : (value as FreeValue)])
  }
  return { timestamp, values }
}

function notValid(why: string): Problem {
  return new Problem('bad_request', `not a valid message: ${why}`)
}
