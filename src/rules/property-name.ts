import { type Condition, variablesIn } from '#model/condition'
import { parsePropertyKey } from '#model/identifier'
import type { ProblemDetail } from '#model/problem'
import { type PropertyType, propertyTypeOf } from '#model/property-type'
import { propIdOfName, type ServiceSchema } from '#model/service-schema'
import type { Shape } from '#model/shape'

/**
 * The property names in conditions. `0x2000` and `0x2000.FLOAT` are ids; the second form only has a meaning while the
 * property has that type. All other texts are names in the service's schema. Contract 5.3.
 */
export interface PropertyReference {
  readonly propId: number
  /** Undefined: any type. */
  readonly type: PropertyType | undefined
}

/** `0x` with an id, and optionally a type after a dot. */
const idPattern = /^(0[xX][0-9a-fA-F]{1,8})(?:\.([A-Za-z0-9-]+))?$/

/** The meaning of the name under this schema; undefined if the name currently has no meaning. */
export function readPropertyName(name: string, schema: ServiceSchema | undefined): PropertyReference | undefined {
  const place = placeOfId(name)
  if (place) return place
  const propId = schema && propIdOfName(schema, name)
  return propId === undefined ? undefined : { propId, type: undefined }
}

/** Position of the property in the shape; −1 if it is missing. */
export function indexIn(shape: Shape, place: PropertyReference | undefined): number {
  const index = place && shape.indexOf.get(place.propId)
  if (index === undefined) return -1
  return place?.type === undefined || shape.properties[index]?.type === place.type ? index : -1
}

/** Names in a validated condition that this schema lacks, as details of a Problem, with their places below `path`. */
export function unknownNamesIn(
  condition: Condition,
  schema: ServiceSchema | undefined,
  path: string,
): readonly ProblemDetail[] {
  return variablesIn(condition)
    .filter(({ name }) => readPropertyName(name, schema) === undefined)
    .map((variable) => ({
      path: [path, ...variable.path].join('.'),
      message: 'must be a property of the service, by its name in the schema or as 0x2000',
    }))
}

function placeOfId(name: string): PropertyReference | undefined {
  const [, id, typeName] = idPattern.exec(name) ?? []
  const propId = id === undefined ? undefined : parsePropertyKey(id)
  if (propId === undefined) return undefined
  if (typeName === undefined) return { propId, type: undefined }
  const type = propertyTypeOf(typeName)
  return type && { propId, type }
}
