import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Crn,
  type CrnTypeWithId,
  type CrnTypeWithName,
  crnTypes,
  formatCrn,
  idOfCrn,
  parseCrn,
  ResourceIdentifier,
} from '#model/crn'
import { forAll } from '#test/kit/for-all'

const types = Object.keys(crnTypes)
const named = types.filter((type) => crnTypes[type as keyof typeof crnTypes] === 'named') as CrnTypeWithName[]
const created = types.filter((type) => crnTypes[type as keyof typeof crnTypes] === 'created') as CrnTypeWithId[]

const tenants = fc.stringMatching(/^[a-z0-9-]{1,63}$/)
const ids = fc.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{10}$/)
const names = fc.stringMatching(/^[A-Z0-9][A-Z0-9-]{0,63}$/)

const crns: fc.Arbitrary<Crn> = fc.oneof(
  fc.record({ type: fc.constant('tenant' as const), id: tenants }),
  fc.record({ type: fc.constantFrom(...created), id: ids }),
  fc.record({ type: fc.constantFrom(...named), tenant: tenants, name: names }),
)

test('a formatted name parses to the same value', () => {
  forAll([crns], (crn) => {
    const text = formatCrn(crn)
    expect(parseCrn(text)).toEqual(crn)
    expect(ResourceIdentifier.parse(text)).toBe(text)
  })
})

test('any accepted text is formatted in one way', () => {
  forAll([fc.oneof(fc.string(), fc.stringMatching(/^crn#(tenant|user|role|device):[!-~]{1,12}$/))], (text) => {
    const crn = parseCrn(text)
    expect(ResourceIdentifier.safeParse(text).success).toBe(crn !== undefined)
    if (crn) expect(parseCrn(formatCrn(crn))).toEqual(crn)
  })
})

describe('parsing', () => {
  test.each<[string, Crn]>([
    ['crn#tenant:default', { type: 'tenant', id: 'default' }],
    ['crn#user:2Vb7qYx9Kd', { type: 'user', id: '2Vb7qYx9Kd' }],
    ['crn#role:acme/night.shift_1', { type: 'role', tenant: 'acme', name: 'night.shift_1' }],
    ['crn#device:acme/{}dev-1', { type: 'device', tenant: 'acme', name: '{}DEV-1' }],
  ])('accepts %s', (text, crn) => {
    expect(parseCrn(text)).toEqual(crn)
  })

  test.each([
    ...['', 'crn', 'crn#', 'crn#user', 'crn#user:', 'CRN#user:2Vb7qYx9Kd', 'crn:user:2Vb7qYx9Kd', ' crn#tenant:a'],
    ...['crn#tenant:a\n', 'crn#thing:2Vb7qYx9Kd', 'crn#constructor:2Vb7qYx9Kd', 'crn#__proto__:a', 'crn#user:short'],
    ...['crn#user:2Vb7qYx9Kd/a', 'crn#tenant:A', 'crn#tenant:a/b', 'crn#role:admin', 'crn#role:/admin', 'crn#role:a/'],
    ...['crn#role:A/b', 'crn#role:a/b/c', 'crn#device:a/*', 'crn#device:a/bc d', `crn#tenant:${'a'.repeat(64)}`],
    `crn#role:a/${'b'.repeat(65)}`,
  ])('refuses %j', (text) => {
    expect(parseCrn(text)).toBeUndefined()
    expect(ResourceIdentifier.safeParse(text).success).toBe(false)
  })
})

test('the schema returns the normal form', () => {
  expect(ResourceIdentifier.parse('crn#device:acme/dev')).toBe('crn#device:acme/DEV')
})

test.each([
  ['crn#user:2Vb7qYx9Kd', 'user', '2Vb7qYx9Kd'],
  ['crn#user:2Vb7qYx9Kd', 'alarm', undefined],
  ['crn#tenant:acme', 'tenant', 'acme'],
  ['nonsense', 'user', undefined],
] as const)('id of %s is %s', (text, type, id) => {
  expect(idOfCrn(text, type)).toBe(id)
})
