import { expect, test } from 'vitest'
import { deviceKinds } from '#bench/fleet/kinds'
import { schemaOf } from '#bench/fleet/schemas'
import { simulatedSchemas } from '#dashboard/pages/fleet/simulated-schemas'

test('the page writes the same schemas as the simulated fleet', () => {
  const services = deviceKinds({ isControlled: true }).flatMap((kind) => kind.services)
  const described = Object.fromEntries(services.map((service) => [service.serviceIdentifier, schemaOf(service)]))
  expect(Object.fromEntries(simulatedSchemas)).toEqual(described)
})
