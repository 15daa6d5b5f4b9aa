import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { propertyText, quote, removedText } from '#events/object-updated'
import { Property } from '#model/property'
import { propertyTypes } from '#model/property-type'
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
          const written = JSON.parse(propertyText(which, index, null, 0))
          expect(Property.parse(written).tag).toBe('value')
          expect(Object.keys(written)).toEqual(['tag', 'modifier', 'propId', 'type'])
        })
      }),
    )
  })

  test('with an error has the error in its modifier, and no value', () => {
    fc.assert(
      fc.property(shape, hostileText, (which, error) => {
        const written = JSON.parse(propertyText(which, 0, { error }, 7))
        expect(Property.parse(written)).toMatchObject({
          tag: 'error',
          error,
          modifier: { isError: true },
          timestamp: 7,
        })
        expect(written).not.toHaveProperty('value')
        // Later texts do not contain the error.
        expect(JSON.parse(propertyText(which, 0, null)).modifier.isError).toBe(false)
      }),
    )
  })
})

test('the text of a removed property has the last state', () => {
  for (const { name, wireName, isArray } of propertyTypes.values()) {
    const written = JSON.parse(removedText({ propId: 3, type: name, modifier: 8 + 1 }))
    expect(Property.parse(written)).toEqual({
      tag: 'removed',
      propId: 3,
      type: wireName,
      modifier: { isReadOnly: true, isActionable: false, isVolatile: false, isError: false, isArray },
    })
  }
  expect(() => removedText({ propId: 1, type: 'nothing', modifier: 0 })).toThrow('is not a data type')
})

test('identifiers are quoted as in JSON', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[ -~]{0,20}$/), (text) => {
      expect(JSON.parse(quote(text))).toBe(text)
      expect(quote(text)).toBe(JSON.stringify(text))
    }),
    { numRuns: 500 },
  )
})
