import { expect, test } from 'vitest'
import { partsOfTopicRow, subscriberIdOf, topicRow } from '#actors/subscriber/state'

test.each([
  ['crn#user:2Vb7qYx9Kd', '2Vb7qYx9Kd'],
  ['crn#key:4Qm8sUx2Bw', '4Qm8sUx2Bw'],
  ['crn#user:anonymous', 'anonymous'],
])('%s subscribes as %s', (user, id) => {
  expect(subscriberIdOf(user)).toBe(id)
})

test('an index row has the subscriber and the topic', () => {
  const row = topicRow('6Hn3wRt5Mz', 'anonymous', '5Tn2bGh9Kd')
  expect(row.startsWith('6Hn3wRt5Mz/')).toBe(true)
  const parts = { function: '6Hn3wRt5Mz', subscriber: 'anonymous', subscription: '5Tn2bGh9Kd' }
  expect(partsOfTopicRow(row)).toEqual(parts)
})
