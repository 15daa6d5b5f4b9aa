import { expect, test } from 'vitest'
import { FrameComparison } from '#bench/proof/event-checker'

/**
 * Two devices: the first sent 5 frames, of which 4 were acknowledged; the second none. Frame k of the first has number
 * 2k − 2.
 */
const sent = { prefix: 'A', sent: [5, 0], acknowledged: [4, 0] }
const devices = 2

/** An event of frame k of the first device: two values, which descend to the number of the frame. */
function frame(k: number, deviceIdentifier = 'A-0000000') {
  const number = (k - 1) * devices
  return { deviceIdentifier, updates: [number + 1, number].map((each) => ({ value: each / 100 })) }
}
type Frame = ReturnType<typeof frame>

const found = { acknowledged: 4, found: 4, lost: 0, unacknowledged: 0, repeated: 0, wrong: 0, unknown: 0 }
const cases: readonly (readonly [string, readonly Frame[], Partial<typeof found>])[] = [
  ['complete', [1, 2, 3, 4].map((k) => frame(k)), {}],
  ['with an unacknowledged frame', [1, 2, 3, 4, 5].map((k) => frame(k)), { unacknowledged: 1 }],
  ['with a lost frame', [1, 2, 4].map((k) => frame(k)), { found: 3, lost: 1 }],
  ['without the last acknowledged frame', [1, 2, 3].map((k) => frame(k)), { found: 3, lost: 1 }],
  ['with a duplicate', [1, 2, 2, 3, 4].map((k) => frame(k)), { repeated: 1 }],
  ['in the wrong order', [1, 3, 2, 4].map((k) => frame(k)), { found: 3, lost: 1, repeated: 1 }],
  ['with a frame that was not sent', [1, 2, 3, 4, 5, 6].map((k) => frame(k)), { unacknowledged: 2, wrong: 1 }],
  [
    'with a wrong value',
    [{ ...frame(1), updates: [{ value: 7 }, { value: 0 }] }, ...[1, 2, 3, 4].map((k) => frame(k))],
    { wrong: 1 },
  ],
  ['with a frame of another device', [1, 2, 3, 4].map((k) => frame(k)).concat(frame(1, 'B-0000000')), { unknown: 1 }],
]

test.each(cases)('a stream %s', (_, events, expected) => {
  const comparison = new FrameComparison(() => [sent], 'whole')
  for (const event of events) comparison.add(event)
  expect(comparison.report()).toEqual({ ...found, ...expected })
})

test('a slow subscriber may miss frames that a later one overrides, but not the newest', () => {
  const comparison = new FrameComparison(() => [sent], 'newest')
  comparison.add(frame(1))
  expect(comparison.missingOf([sent])).toEqual(['A-0: frame 4 was acknowledged, received up to 1'])
  comparison.add(frame(4))
  expect(comparison.missingOf([sent])).toEqual([])
  expect(comparison.report()).toEqual(found)
})
