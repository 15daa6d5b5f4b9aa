import { expect, test } from 'vitest'
import { faultsOf } from '#bench/proof/mqtt/mqtt'

const cases: readonly (readonly [string, readonly number[], readonly string[]])[] = [
  ['all', [1, 2, 3, 4], []],
  ['all but one in the middle', [1, 2, 4], ['1 of 4 lost, first 3']],
  ['all but the last one', [1, 2, 3], ['1 of 4 lost, first 4']],
  ['some twice', [1, 2, 3, 2, 3, 4], ['2 stored twice: 2 after 3, 3 after 3']],
  ['all in the wrong order', [1, 3, 2, 4], ['1 out of order']],
  ['one that was not published', [1, 2, 3, 4, 5], ['5 was stored, 4 were published']],
]

test.each(cases)(
  'the faults with QoS 2 if four messages were published, and the server stored %s',
  (_, stored, faults) => {
    expect(faultsOf(stored, 4, false)).toEqual(faults)
  },
)

test('messages with QoS 1 may be stored twice', () => {
  expect(faultsOf([1, 2, 3, 2, 3, 4], 4, true)).toEqual([])
})
