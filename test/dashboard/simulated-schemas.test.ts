import { expect, test } from 'vitest'
import { deviceKinds, schemaOf } from '#bench/fleet/kinds'
import { fleetDefaults } from '#bench/fleet/options'
import { simulatedSchemas } from '#dashboard/pages/fleet/simulated-schemas'

test('the page writes the same schemas as the simulated fleet itself', () => {
  const { properties } = fleetDefaults
  const services = deviceKinds(properties, { isControlled: true }).flatMap((kind) => kind.services)
  const described = Object.fromEntries(services.map((service) => [service.serviceIdentifier, schemaOf(service)]))
  expect(Object.fromEntries(simulatedSchemas)).toEqual(described)
})
