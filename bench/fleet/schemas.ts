import type { DeviceKind, SimulatedProperty, SimulatedService } from '#bench/fleet/kinds'
import { authorizationHeader } from '#bench/harness/identity'
import { request } from '#bench/http'

/** The schema of a simulated service, in the shape of §2.4 and contract 3.9. */
export function schemaOf(service: SimulatedService): object {
  return {
    name: service.name,
    description: service.description,
    properties: Object.fromEntries(service.properties.map((property) => [hexOf(property), schemaOfProperty(property)])),
  }
}

/** Stores the schemas of all services, so that `raw=false` shows names. Throws on a refusal. */
export async function putSchemas(
  serverUrl: string,
  kinds: readonly DeviceKind[],
  authorization?: string,
): Promise<void> {
  const services = new Map(
    kinds.flatMap((kind) => kind.services).map((service) => [service.serviceIdentifier, service]),
  )
  for (const [serviceIdentifier, service] of services) {
    const answer = await request(`${serverUrl}/api/v1/schemas/${serviceIdentifier}`, {
      method: 'PUT',
      headers: authorizationHeader(authorization),
      body: JSON.stringify(schemaOf(service)),
    })
    if (answer.status >= 300) throw new Error(`schema of ${service.name}: ${answer.status} ${answer.text}`)
  }
}

function schemaOfProperty(property: SimulatedProperty): object {
  return {
    name: property.name,
    description: property.description,
    type: property.type.toLowerCase(),
    ...(property.order === undefined && { readonly: true }),
    ...(property.order === 'actionable' && { actionable: true }),
    ...(property.unit !== undefined && { unit: property.unit }),
    ...(property.enumeration && {
      enum: Object.fromEntries(property.enumeration.map((name, value) => [String(value), { name }])),
    }),
  }
}

const hexOf = (property: SimulatedProperty): string => `0x${property.propId.toString(16).padStart(4, '0')}`
