import { type Condition, variablesIn } from '#model/condition'
import { isPropertyError, type PropertyState } from '#model/entry'
import { serviceIdentifierOf } from '#model/identifier'
import type { JsonObject, JsonValue } from '#model/json-value'
import { Problem, type ProblemDetail } from '#model/problem'
import type { PropertyValue } from '#model/property-type'
import type { ServiceSchema } from '#model/service-schema'
import type { Shape } from '#model/shape'
import { compile } from '#rules/compile'
import { valueIn } from '#rules/meta-value'
import { indexIn, readPropertyName } from '#rules/property-name'
import { filterUnitsMax, serviceUnits, work } from '#rules/rule-work'

/**
 * Conditions over whole devices, for finding them. They read `deviceIdentifier`, `status`, `meta`, what is in it
 * (`meta.site.floor`), and properties (`services.<serviceIdentifier>.<name or 0x-id>`). Contract 3.7.
 *
 * Identifiers, names and keys may hold dots. Behind `services.` stands the longest identifier of a service of the device
 * that a dot follows, and then one whole name. In `meta`, at every level, the whole rest is tried as a key first, then
 * the longest key that a dot follows.
 */
export interface DeviceFilter {
  /** False when it reads nothing but names: `onlyNamed` is enough for it. */
  readonly needsState: boolean
  /** False also when a property it names has no value, and when the condition fails or costs more than it may. */
  matches(device: FilteredDevice, source: FilterSource): boolean
}

/** What of a device is read. */
export interface FilteredDevice {
  readonly device: string
  readonly status: string
  readonly meta: JsonObject
  readonly services: readonly FilteredService[]
}

interface FilteredService {
  readonly shape: Shape
  stateOf(index: number): PropertyState
}

/** Who asks: what he may not read is not there for him. Else a filter would read it to him, one yes or no at a time. */
export interface FilterSource {
  readonly tenant: { readonly schemas: Pick<ReadonlyMap<string, ServiceSchema>, 'get'> }
  mayReadService(device: string, service: string): boolean
  mayReadMeta(device: string): boolean
}

type Get = (device: FilteredDevice, source: FilterSource) => PropertyValue | JsonValue

const noMeta: JsonObject = Object.freeze({})

/** A device of which nothing is known but its name. */
export function onlyNamed(device: string): FilteredDevice {
  return { device, status: '', meta: noMeta, services: [] }
}

/**
 * Takes conditions that `FilterCondition` has checked.
 *
 * @throws Problem `invalid`, for names of nothing a device has; each a detail behind `filter`.
 */
export function compileFilter(condition: Condition): DeviceFilter {
  const unknown = variablesIn(condition).filter(({ name }) => getterOf(name) === undefined)
  if (unknown.length > 0) {
    const details = unknown.map(
      ({ path }): ProblemDetail => ({ path: ['filter', ...path].join('.'), message: mustName }),
    )
    throw new Problem('invalid', undefined, { details })
  }
  const compiled = compile(condition)
  const { names, neededCount } = compiled
  const getters = names.map((name) => getterOf(name) as Get)
  // A property that is waited for; `meta` and `status` are null where they are not there.
  const isNeeded = names.map((name, slot) => slot < neededCount && name.startsWith(servicesStart))
  const values: unknown[] = names.map(() => null)
  return {
    needsState: names.some((name) => name !== 'deviceIdentifier'),
    matches(device, source) {
      work.begin(filterUnitsMax, 1)
      try {
        for (let slot = 0; slot < getters.length; slot++) {
          const value = (getters[slot] as Get)(device, source)
          if (value === null && isNeeded[slot]) return false
          values[slot] = value
        }
        return compiled.evaluate(values)
      } catch {
        return false
      } finally {
        work.end()
      }
    },
  }
}

const servicesStart = 'services.'
const metaStart = 'meta.'

const mustName =
  'must be deviceIdentifier, status, meta, meta.<key> or services.<serviceIdentifier>.<name or 0x-id of a property>'

function getterOf(name: string): Get | undefined {
  if (name === 'deviceIdentifier') return ({ device }) => device
  if (name === 'status') return ({ device, status }, source) => (source.mayReadMeta(device) ? status : null)
  if (name === 'meta') return ({ device, meta }, source) => (source.mayReadMeta(device) ? meta : null)
  if (name.startsWith(metaStart)) {
    const path = name.slice(metaStart.length)
    return ({ device, meta }, source) => (source.mayReadMeta(device) ? valueIn(meta, path) : null)
  }
  const rest = name.startsWith(servicesStart) ? inNormalForm(name.slice(servicesStart.length)) : ''
  const isPath = rest.indexOf('.') > 0 && rest.indexOf('.') < rest.length - 1
  return isPath ? propertyGetter(rest) : undefined
}

const uuidCharacters = 36

/** With a UUID at the beginning as services have it, whatever case it is written in. Contract 1.8. */
function inNormalForm(path: string): string {
  const start = path.slice(0, uuidCharacters)
  const rest = path.slice(uuidCharacters)
  return rest.startsWith('.') ? (serviceIdentifierOf(start) ?? start) + rest : path
}

/** Where in a shape a name is, −1 for nowhere, as long as the schema is this one. */
interface KnownPlace {
  readonly schema: ServiceSchema | undefined
  readonly index: number
}

function propertyGetter(path: string): Get {
  // A fleet has few shapes; where the name is in one is found once.
  const known = new WeakMap<Shape, KnownPlace>()
  return ({ device, services }, source) => {
    let service: FilteredService | undefined
    work.spend(services.length * serviceUnits)
    for (const candidate of services) {
      const { serviceIdentifier } = candidate.shape
      const isLonger = !service || serviceIdentifier.length > service.shape.serviceIdentifier.length
      if (isLonger && isFollowed(path, serviceIdentifier) && source.mayReadService(device, serviceIdentifier)) {
        service = candidate
      }
    }
    if (!service) return null
    const { shape } = service
    const schema = source.tenant.schemas.get(shape.serviceIdentifier)
    let place = known.get(shape)
    if (!place || place.schema !== schema) {
      const name = path.slice(shape.serviceIdentifier.length + 1)
      place = { schema, index: indexIn(shape, readPropertyName(name, schema)) }
      known.set(shape, place)
    }
    const state = place.index < 0 ? null : service.stateOf(place.index)
    return state !== null && isPropertyError(state) ? null : state
  }
}

/** Whether the path goes on behind this start with a dot and something more. */
function isFollowed(path: string, start: string): boolean {
  return path.startsWith(start) && path[start.length] === '.' && path.length > start.length + 1
}
