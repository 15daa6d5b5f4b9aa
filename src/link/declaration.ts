import { BoundedMap } from '#access/bounded-map'
import type { DeclaredService } from '#actors/device/commands'
import { messageOf, readPropertyItems } from '#link/device-frame'
import type { PropertyState } from '#model/entry'
import { type HelloMessage, PropertyDeclaration, type ServiceDeclaration, ServiceHead } from '#model/link-message'
import { modifierBits, modifierFlags } from '#model/modifier'
import { Problem } from '#model/problem'
import { propertyTypeOf } from '#model/property-type'
import type { InternShape, ShapeProperty } from '#model/shape'
import { tenantKey } from '#model/tenant'
import type { World } from '#runtime/world'

export function declaredServices(services: HelloMessage['services'], intern: InternShape): DeclaredService[] {
  return services.map((service, place) => declaredService(service, place, intern))
}

/**
 * Converts a checked declaration to the form that device actors take: a shape and the initial values. Properties are
 * sorted by id, so that devices that declare them in another order share a shape.
 * @throws Problem `value_bad`, which names the property; `invalid` for an unknown type
 */
export function declaredService(
  { serviceIdentifier, properties }: ServiceDeclaration,
  place: number,
  intern: InternShape,
): DeclaredService {
  const sorted = [...properties].sort((a, b) => a.propId - b.propId)
  const shape = intern(serviceIdentifier, sorted.map(shapeProperty))
  const items: (number | PropertyState)[] = []
  sorted.forEach((property, index) => {
    if (property.value === undefined) return
    const { type } = shape.properties[index] as ShapeProperty
    const value = type.accept(property.value)
    if (value === undefined) {
      const path = `services.${place}.properties.${properties.indexOf(property)}.value`
      const message = `property ${property.propId} of ${serviceIdentifier} must be ${type.text}`
      throw new Problem('value_bad', message, { details: [{ path, message: `must be ${type.text}` }] })
    }
    items.push(index, value)
  })
  return { shape, items }
}

/** Checks a service of a HELLO like its schema does, but stops at the first error. */
export function readService(service: unknown, path: string): ServiceDeclaration | Problem {
  const head = ServiceHead.safeParse(service)
  if (!head.success) return new Problem('bad_request', messageOf(head.error, path))
  const properties = readPropertyItems(PropertyDeclaration, head.data.properties, `${path}.properties`)
  return properties instanceof Problem ? properties : { ...head.data, properties }
}

function shapeProperty({ propId, type, modifier }: ServiceDeclaration['properties'][number]): ShapeProperty {
  const known = propertyTypeOf(type)
  if (!known) throw new Problem('invalid', `${type} is not a data type`)
  const declared = modifierBits(modifier ?? {}) & ~(modifierFlags.isError | modifierFlags.isArray)
  return { propId, type: known, modifier: declared | (known.isArray ? modifierFlags.isArray : 0) }
}

/**
 * The limit of new shapes that a device may declare at once. It is four times the largest number of services, so that a
 * first boot and firmware updates are never refused. After that, the device may declare one more each minute. A shape
 * stays stored as long as a device or a retained entry uses it.
 */
export const newShapesMax = 256
const newShapeEveryMs = 60_000
/**
 * Devices whose new shapes are counted. Above this number, those that declared a new shape longest ago are forgotten.
 */
const devicesMax = 100_000

/** Limits how many new shapes each device declares. */
export class DeclarationRate {
  readonly #world: World
  readonly #left = new BoundedMap<string, { readonly count: number; readonly at: number }>(devicesMax)

  constructor(world: World) {
    this.#world = world
  }

  /** Counts new shapes. Returns false, and counts none, if there are too many. */
  take(tenant: string, device: string, count: number): boolean {
    if (count === 0) return true
    const key = tenantKey(tenant, device)
    const now = this.#world.monotonic()
    const before = this.#left.get(key)
    const left = before ? Math.min(newShapesMax, before.count + (now - before.at) / newShapeEveryMs) : newShapesMax
    if (count > left) return false
    this.#left.set(key, { count: left - count, at: now })
    return true
  }
}

export function tooManyShapes(device: string): string {
  return `${device} declared more than ${newShapesMax} services that it did not have; it may declare one more each minute`
}
