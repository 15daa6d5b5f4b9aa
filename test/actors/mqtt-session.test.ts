import fc from 'fast-check'
import { expect, test } from 'vitest'
import { idsIn, packedIds } from '#actors/mqtt-session/mqtt-session'
import { packRecord, unpackRecord } from '#store/record-codec'

const format = { name: 'identifiers', version: 1, upgrades: {} }
const id = fc.integer({ min: 1, max: 65_535 })

test('packet identifiers are stored and found again, and take little more than 8 KiB', () => {
  fc.assert(
    fc.property(fc.oneof(fc.uniqueArray(id), fc.uniqueArray(id, { minLength: 1_000, maxLength: 1_100 })), (ids) => {
      const row = packRecord(format, packedIds(new Set(ids)))
      expect(row.length).toBeLessThan(8_300)
      expect(new Set(idsIn(unpackRecord(format, row) as number[]))).toEqual(new Set(ids))
    }),
    { numRuns: 30 },
  )
})
