import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ServiceState } from '#actors/device/service-state'
import type { PropertyState } from '#model/entry'
import { shapeOf } from '#test/actors/acting-device'

const shape = shapeOf('svc', { 1: 'float', 2: 'string', 3: 'uint64', 4: 'bool-array' })

const anyReport = fc.record({
  index: fc.nat(3),
  state: fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom<PropertyState>(null, 0, 'x', '18446744073709551615', true, [true], [], { error: 'e' }),
  ),
  time: fc.nat(2 ** 45),
  offset: fc.nat(Number.MAX_SAFE_INTEGER),
})

test('a property has its last reported value or error, after any earlier ones', () => {
  fc.assert(
    fc.property(fc.array(anyReport), (all) => {
      const service = new ServiceState(shape)
      const expected = shape.properties.map(() => ({ state: null as PropertyState, time: 0, offset: 0 }))
      for (const { index, state, time, offset } of all) {
        service.set(index, state, time, offset)
        expected[index] = { state, time, offset }
        expect(service.stateOf(index)).toEqual(state)
      }
      expect(service.states()).toEqual(expected.map(({ state }) => state))
      expect(service.times()).toEqual(expected.map(({ time }) => time))
      expect(service.offsets()).toEqual(expected.map(({ offset }) => offset))
      const again = new ServiceState(shape, service.states(), service.times(), service.offsets())
      expect([again.states(), again.times(), again.offsets()]).toEqual([
        service.states(),
        service.times(),
        service.offsets(),
      ])
    }),
  )
})
