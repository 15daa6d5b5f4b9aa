import type { LinkedDevice } from '#link/link'
import { serviceIdentifierOf } from '#model/identifier'
import type { Shape } from '#model/shape'

/** The shape that a frame means: by its place in HELLO or by its name. */
export function shapeOf(
  { services }: Pick<LinkedDevice, 'services'>,
  { service }: { readonly service: number | string },
): Shape | undefined {
  if (typeof service === 'number') return services[service]
  for (let index = 0; index < services.length; index++) {
    const shape = services[index] as Shape
    if (shape.serviceIdentifier === service) return shape
  }
  // Written otherwise than in its normal form: a UUID in upper case.
  const normal = serviceIdentifierOf(service)
  return normal === undefined || normal === service ? undefined : shapeOf({ services }, { service: normal })
}
