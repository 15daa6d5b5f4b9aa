import fc from 'fast-check'
import { expect, test } from 'vitest'
import { closeData, closeOf, RecordBatches, recordsIn } from '#cluster/tunnel-records'
import { world } from '#test/http/http-fixture'

test('the records in batches are those that were added, in order', () => {
  const record = fc.record({
    id: fc.nat({ max: 0xffff_ffff }),
    kind: fc.nat({ max: 255 }),
    data: fc.uint8Array({ maxLength: 20_000 }),
  })
  fc.assert(
    fc.property(fc.array(record, { maxLength: 30 }), (records) => {
      const sent: Uint8Array[] = []
      const batches = new RecordBatches(world, (batch) => sent.push(batch))
      for (const { id, kind, data } of records) batches.add(id, kind, data)
      batches.flush()
      const found = sent.flatMap((batch) => [...recordsIn(batch)])
      expect(found.map(({ data, ...rest }) => ({ ...rest, data: Uint8Array.from(data) }))).toEqual(records)
    }),
  )
})

test('a batch that is cut off is refused', () => {
  const sent: Uint8Array[] = []
  const batches = new RecordBatches(world, (batch) => sent.push(batch))
  batches.add(1, 3, 'text')
  batches.flush()
  for (let bytes = 1; bytes < 13; bytes++)
    expect(() => [...recordsIn((sent[0] as Uint8Array).subarray(0, bytes))]).toThrow(RangeError)
})

test('a closure keeps its code and reason', () => {
  expect(closeOf(closeData(4003, 'nicht erlaubt €'))).toEqual({ code: 4003, reason: 'nicht erlaubt €' })
})
