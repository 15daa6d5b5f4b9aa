import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { propertyText, quote, removedText } from '#events/object-updated'
import { Property } from '#model/property'
import { propertyTypeOf, propertyTypes } from '#model/property-type'
import { Shapes } from '#store/shapes'
import { acceptedValue, hostileText, shape } from '#test/store/entry-arbitrary'

const timestamp = fc.integer({ min: 1, max: 8_640_000_000_000_000 })

describe('the text of a property', () => {
  test('is a Property of the model, for every type and value', () => {
    for (const type of propertyTypes.values()) {
      const one = new Shapes(() => undefined).intern('svc', [{ propId: 5, type, modifier: 0 }])
      fc.assert(
        fc.property(acceptedValue(type), timestamp, (value, timestamp) => {
          const property = Property.parse(JSON.parse(propertyText(one, 0, value, timestamp)))
          expect(property).toMatchObject({ tag: 'value', propId: 5, type: type.wireName, timestamp })
          expect(property.value).toEqual(value)
        }),
        { numRuns: 40 },
      )
    }
  })

  test('without a report has neither value nor time', () => {
    fc.assert(
      fc.property(shape, (which) => {
        which.properties.forEach((_, index) => {
          const said = JSON.parse(propertyText(which, index, null, 0))
          expect(Property.parse(said).tag).toBe('value')
          expect(Object.keys(said)).toEqual(['tag', 'modifier', 'propId', 'type'])
        })
      }),
    )
  })

  test('with an error has the error in its modifier, and no value', () => {
    fc.assert(
      fc.property(shape, hostileText, (which, error) => {
        const said = JSON.parse(propertyText(which, 0, { error }, 7))
        expect(Property.parse(said)).toMatchObject({ tag: 'error', error, modifier: { isError: true }, timestamp: 7 })
        expect(said).not.toHaveProperty('value')
        // The next one without an error has none.
        expect(JSON.parse(propertyText(which, 0, null)).modifier.isError).toBe(false)
      }),
    )
  })

  test.each([
    [1e21, '1e+21'],
    [5e-324, '5e-324'],
    [0, '0'],
    [-0.5, '-0.5'],
    [2 ** 53, '9007199254740992'],
  ])('has the number %d in its JSON form', (number, text) => {
    const type = propertyTypeOf('float64')
    if (!type) throw new Error('no such type')
    const one = new Shapes(() => undefined).intern('svc', [{ propId: 5, type, modifier: 0 }])
    expect(propertyText(one, 0, number)).toContain(`"value":${text}}`)
  })

  test('differs for states of similar shape', () => {
    const shapes = new Shapes(() => undefined)
    const [uint8, string] = [propertyTypeOf('uint8'), propertyTypeOf('string')]
    if (!uint8 || !string) throw new Error('no such type')
    const one = shapes.intern('svc', [{ propId: 1, type: uint8, modifier: 0 }])
    const other = shapes.intern('svc', [{ propId: 1, type: string, modifier: 1 }])
    expect(JSON.parse(propertyText(one, 0, 1))).toMatchObject({ type: 'UINT8', modifier: { isReadOnly: false } })
    expect(JSON.parse(propertyText(other, 0, 'x'))).toMatchObject({ type: 'STRING', modifier: { isReadOnly: true } })
  })
})

test('a removed property has its last state', () => {
  for (const { name, wireName, isArray } of propertyTypes.values()) {
    const said = JSON.parse(removedText({ propId: 3, type: name, modifier: 8 + 1 }))
    expect(Property.parse(said)).toEqual({
      tag: 'removed',
      propId: 3,
      type: wireName,
      modifier: { isReadOnly: true, isActionable: false, isVolatile: false, isError: false, isArray },
    })
  }
  expect(() => removedText({ propId: 1, type: 'nothing', modifier: 0 })).toThrow('no data type')
})

test('identifiers are quoted like JSON', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[ -~]{0,20}$/), (text) => {
      expect(JSON.parse(quote(text))).toBe(text)
      expect(quote(text)).toBe(JSON.stringify(text))
    }),
    { numRuns: 500 },
  )
})
