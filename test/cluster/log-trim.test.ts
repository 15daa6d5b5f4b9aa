import { expect, test } from 'vitest'
import { firstKept } from '#cluster/log-trim'

const extent = { first: 11, last: 110, messages: 100, bytes: 1_000 }

test.each([
  ['the messages that the slowest node still has to read', [50, 90, 110], 10_000, 50],
  ['all messages while a node has read none', [0, 110], 10_000, 11],
  ['the last message', [500], 10_000, 110],
  ['as many messages as the bytes permit', [20, 110], 500, 61],
  ['the last message, however large it is', [20], 1, 110],
])('trimming the log keeps %s', (_, positions, bytesMax, first) => {
  expect(firstKept(positions, extent, bytesMax)).toBe(first)
})
