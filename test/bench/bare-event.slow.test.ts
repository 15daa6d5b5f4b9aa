import { expect, test } from 'vitest'
import { objectUpdated } from '#bench/bare/object-updated'
import { encode } from '#events/wire-format'
import { modifierFlags } from '#model/modifier'
import { propertyTypeOf } from '#model/property-type'
import { Shapes } from '#store/shapes'

test('the bare server of the benchmarks sends the same bytes as the product', () => {
  const type = propertyTypeOf('FLOAT')
  if (!type) throw new Error('FLOAT is not a type')
  const properties = [1, 2].map((propId) => ({ propId, type, modifier: modifierFlags.isReadOnly }))
  const shape = new Shapes(() => undefined).intern('svc', properties)
  const about = { kind: 'reported', device: 'LOAD-1', flakeAddress: 7, shape, at: 5, timestamp: 5, seq: 1 } as const
  const bare = objectUpdated(5, 9, 7, 'LOAD-1', 'svc', [1, 21.5, 2, 3])
  expect(JSON.stringify(bare)).toBe(encode({ ...about, items: [0, 21.5, 1, 3] }, 9))
})
