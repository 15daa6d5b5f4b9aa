import fc from 'fast-check'
import type { Grant } from '#model/scope'

/** Random grants that often overlap: two resources or any, three devices or any, two services or any. */
const words = fc.subarray(['create', 'read', '*'] as const, { minLength: 0 })

const permissions = fc.record({ service: words, meta: words, '*': words }, { requiredKeys: [] })

const grant: fc.Arbitrary<Grant> = fc.record({
  permissions,
  devices: fc.subarray(['A', 'B', 'C', '*']),
  services: fc.subarray(['x', 'y', '*']),
})

export const grants: fc.Arbitrary<Grant[]> = fc.array(grant, { maxLength: 4 })
