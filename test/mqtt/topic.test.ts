import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isMatching, isTopicFilter, isTopicName } from '#mqtt/topic'

const level = fc.constantFrom('', 'a', 'b', '$c')
const topics = fc.array(level, { minLength: 1, maxLength: 5 }).map((levels) => levels.join('/'))
const filters = fc
  .tuple(fc.array(fc.oneof(level, fc.constant('+')), { maxLength: 5 }), fc.boolean())
  .map(([levels, isOpen]) => [...levels, ...(isOpen ? ['#'] : [])].join('/'))

/** MQTT 5.0 §4.7 as a regular expression. */
function asPattern(filter: string): RegExp {
  const pattern = filter
    .replaceAll('$', '\\$')
    .replace(/(^|\/)#$/, (_, slash) => (slash ? '(/.*)?' : '.*'))
    .replaceAll('+', '[^/]*')
  return new RegExp(`^${pattern}$`)
}

test('a filter matches the topics that its pattern matches', () => {
  fc.assert(
    fc.property(topics, filters, (topic, filter) => {
      if (!isTopicName(topic) || !isTopicFilter(filter)) return
      const isHidden = topic.startsWith('$') && !filter.startsWith('$')
      expect(isMatching(filter, topic)).toBe(!isHidden && asPattern(filter).test(topic))
    }),
    { numRuns: 1_000 },
  )
})
