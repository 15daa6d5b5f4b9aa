import { type Condition, variablesIn } from '#model/condition'
import { isPropertyError, type PropertyState } from '#model/entry'
import { serviceIdentifierOf } from '#model/identifier'
import type { JsonObject, JsonValue } from '#model/json-value'
import { Problem, type ProblemDetail } from '#model/problem'
import type { PropertyValue } from '#model/property-type'
import type { ServiceSchema } from '#model/service-schema'
import type { Shape } from '#model/shape'
import { CompiledCondition } from '#rules/compiled-condition'
import { valueIn } from '#rules/function-graph'
import { indexIn, readPropertyName } from '#rules/property-name'
import { filterUnitsMax, ruleBudget, serviceUnits } from '#rules/rule-budget'

/**
 * Conditions over whole devices, for searching. They read `deviceIdentifier`, `status`, `meta`, fields of the metadata
 * (`meta.site.floor`), properties (`services.<serviceIdentifier>.<name or 0x-id>`), and whether the device has a
 * service (`services.<serviceIdentifier>`). Contract 3.7.
 *
 * Identifiers, names and keys may contain dots. So after `services.`, the longest identifier of a service of the device
 * that is followed by a dot is the service, and the whole rest is the name. In `meta`, at every level, the whole rest
 * is tried as a key first, then the longest key that is followed by a dot.
 */
export interface DeviceFilter {
  /** False if the condition reads only device identifiers: then `deviceWithName` is enough. */
  readonly needsState: boolean
  /**
   * Also false if a property that is read without a default has no value, or if the condition fails or exceeds its
   * limit.
   */
  matches(device: FilteredDevice, source: FilterSource): boolean
}

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

/**
 * The caller's permissions, and the schemas of the tenant. Unreadable data counts as missing: otherwise filters would
 * reveal it, one bit at a time.
 */
export interface FilterSource {
  readonly tenant: { readonly schemas: Pick<ReadonlyMap<string, ServiceSchema>, 'get'> }
  mayReadService(device: string, service: string): boolean
  mayReadMeta(device: string): boolean
}

type Get = (device: FilteredDevice, source: FilterSource) => PropertyValue | JsonValue

const noMeta: JsonObject = Object.freeze({})

/** A device of which only the identifier is known. */
export function deviceWithName(device: string): FilteredDevice {
  return { device, status: '', meta: noMeta, services: [] }
}

/**
 * Expects conditions that `FilterCondition` has validated.
 *
 * @throws Problem `invalid` for unknown names, with one detail below `filter` for each.
 */
export function compileFilter(condition: Condition): DeviceFilter {
  const unknown = variablesIn(condition).filter(({ name }) => getterOf(name) === undefined)
  if (unknown.length > 0) {
    const details = unknown.map(
      ({ path }): ProblemDetail => ({ path: ['filter', ...path].join('.'), message: mustName }),
    )
    throw new Problem('invalid', undefined, { details })
  }
  const compiled = new CompiledCondition(condition)
  // Compiling does not count for the limit of the first device.
  compiled.compile()
  const { names, neededCount } = compiled
  const getters = names.map((name) => getterOf(name) as Get)
  // Whether a missing value makes the filter false: only for properties without a default. Missing `meta` and `status`
  // are null.
  const isNeeded = names.map((name, slot) => slot < neededCount && name.startsWith(servicesStart))
  const values: unknown[] = names.map(() => null)
  return {
    needsState: names.some((name) => name !== 'deviceIdentifier'),
    matches(device, source) {
      ruleBudget.begin(filterUnitsMax, 1)
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
        ruleBudget.end()
      }
    },
  }
}

const servicesStart = 'services.'
const metaStart = 'meta.'

const mustName =
  'must be deviceIdentifier, status, meta, meta.<key>, services.<serviceIdentifier> or services.<serviceIdentifier>.<name or 0x-id of a property>'

function getterOf(name: string): Get | undefined {
  if (name === 'deviceIdentifier') return ({ device }) => device
  if (name === 'status') return ({ device, status }, source) => (source.mayReadMeta(device) ? status : null)
  if (name === 'meta') return ({ device, meta }, source) => (source.mayReadMeta(device) ? meta : null)
  if (name.startsWith(metaStart)) {
    const path = name.slice(metaStart.length)
    return ({ device, meta }, source) => (source.mayReadMeta(device) ? valueIn(meta, path) : null)
  }
  const rest = name.startsWith(servicesStart) ? inNormalForm(name.slice(servicesStart.length)) : ''
  return rest !== '' && !rest.startsWith('.') && !rest.endsWith('.') ? serviceGetter(rest) : undefined
}

/** Reads a property. For the identifier of a service, reads whether the device has this service. */
function serviceGetter(path: string): Get {
  const property = propertyGetter(path)
  return (device, source) => {
    const value = path.includes('.') ? property(device, source) : null
    if (value !== null) return value
    const isService = ({ shape }: FilteredService) => shape.serviceIdentifier === path
    const has = device.services.some(isService) && source.mayReadService(device.device, path)
    // A path with a dot may also name a property without a value.
    return has || (path.includes('.') ? null : false)
  }
}

const uuidCharacters = 36

/** Converts a leading UUID to the case that services have. Contract 1.8. */
function inNormalForm(path: string): string {
  const start = path.slice(0, uuidCharacters)
  const rest = path.slice(uuidCharacters)
  return rest === '' || rest.startsWith('.') ? (serviceIdentifierOf(start) ?? start) + rest : path
}

/** Position of a name in a shape under this schema, −1 for none. */
interface KnownPlace {
  readonly schema: ServiceSchema | undefined
  readonly index: number
}

function propertyGetter(path: string): Get {
  // A fleet has few shapes, so the position of the name is found once for each.
  const known = new WeakMap<Shape, KnownPlace>()
  return ({ device, services }, source) => {
    let service: FilteredService | undefined
    ruleBudget.spend(services.length * serviceUnits)
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

/** Whether the path continues after this start with a dot and at least one character. */
function isFollowed(path: string, start: string): boolean {
  return path.startsWith(start) && path[start.length] === '.' && path.length > start.length + 1
}
