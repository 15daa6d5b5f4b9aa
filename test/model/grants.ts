import fc from 'fast-check'
import type { Grant, Resource } from '#model/scope'

const words = fc.subarray(['create', 'read', '*'] as const, { minLength: 0 })

/** Random grants that often overlap: these resources or any, three devices or any, two services or any. */
export function grantsOn(...resources: Resource[]): fc.Arbitrary<Grant[]> {
  const permissions = Object.fromEntries([...resources, '*'].map((resource) => [resource, words]))
  const grant = fc.record({
    permissions: fc.record(permissions, { requiredKeys: [] }),
    devices: fc.subarray(['A', 'B', 'C', '*']),
    services: fc.subarray(['x', 'y', '*']),
  })
  return fc.array(grant, { maxLength: 4 })
}

export const grants = grantsOn('service', 'meta')
