import { describe, expect, test } from 'vitest'
import { modifierBits, modifierFlags, modifierOf } from '#model/modifier'
import { Property } from '#model/property'

describe('modifier bits', () => {
  test.each(Array.from({ length: 32 }, (_, bits) => bits))('%i are restored from their modifier', (bits) => {
    expect(modifierBits(modifierOf(bits))).toBe(bits)
  })

  test('unknown bits are ignored, and shared objects cannot be changed', () => {
    expect(modifierOf(33)).toBe(modifierOf(1))
    expect(Object.isFrozen(modifierOf(1))).toBe(true)
  })
})

describe('property', () => {
  const property = { tag: 'value', modifier: modifierOf(0), propId: 8192, type: 'UINT8', value: 7, timestamp: 1 }
  const { value: _value, ...withoutValue } = property
  const modifier = modifierOf(modifierFlags.isError)

  test.each([
    ['a value', property],
    ['an array', { ...property, type: 'UINT8-ARRAY', value: [1, 2] }],
    ['declared, without value', withoutValue],
    ['an error', { ...withoutValue, tag: 'error', error: 'sensor broken', modifier }],
    ['removed', { ...withoutValue, tag: 'removed' }],
  ])('with %s is valid', (_name, good) => {
    expect(Property.parse(good)).toEqual(good)
  })

  test.each([
    ['unknown tag', { ...property, tag: 'gone' }],
    ['lower-case type', { ...property, type: 'uint8' }],
    ['unknown type', { ...property, type: 'UINT7' }],
    ['negative id', { ...property, propId: -1 }],
    ['id as text', { ...property, propId: '8192' }],
    ['missing flag', { ...property, modifier: { isReadOnly: true } }],
    ['value an object', { ...property, value: {} }],
    ['value null', { ...property, value: null }],
    ['nested array', { ...property, value: [[1]] }],
    ['nothing', null],
  ])('with %s is refused', (_name, bad) => {
    expect(Property.safeParse(bad).success).toBe(false)
  })
})
