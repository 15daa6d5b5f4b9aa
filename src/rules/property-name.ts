import type { Condition } from '#model/condition'
import { variablesIn } from '#model/condition'
import { parsePropertyKey } from '#model/identifier'
import type { ProblemDetail } from '#model/problem'
import { type PropertyType, propertyTypeOf } from '#model/property-type'
import { propIdOfName, type ServiceSchema } from '#model/service-schema'
import type { Shape } from '#model/shape'

/**
 * How conditions name a property of a service: `0x2000` and `0x2000.FLOAT` are ids, the second only while it is of that
 * type. Anything else is a name of the service's schema, looked up whole. Contract 5.3.
 */
export interface PropertyPlace {
  readonly propId: number
  /** Any, when not said. */
  readonly type: PropertyType | undefined
}

/** `0x`, and a type behind a dot. */
const idPattern = /^(0[xX][0-9a-fA-F]{1,8})(?:\.([A-Za-z0-9-]+))?$/

/** What the name means under this schema; undefined when it means nothing, now. */
export function readPropertyName(name: string, schema: ServiceSchema | undefined): PropertyPlace | undefined {
  const place = placeOfId(name)
  if (place) return place
  const propId = schema && propIdOfName(schema, name)
  return propId === undefined ? undefined : { propId, type: undefined }
}

/** Where in the shape it is; −1 when it is not there. */
export function indexIn(shape: Shape, place: PropertyPlace | undefined): number {
  const index = place && shape.indexOf.get(place.propId)
  if (index === undefined) return -1
  return place?.type === undefined || shape.properties[index]?.type === place.type ? index : -1
}

/** Of a checked condition: what it names that this schema lacks, each a detail with its place behind `path`. */
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

function placeOfId(name: string): PropertyPlace | undefined {
  const [, id, typeName] = idPattern.exec(name) ?? []
  const propId = id === undefined ? undefined : parsePropertyKey(id)
  if (propId === undefined) return undefined
  if (typeName === undefined) return { propId, type: undefined }
  const type = propertyTypeOf(typeName)
  return type && { propId, type }
}
