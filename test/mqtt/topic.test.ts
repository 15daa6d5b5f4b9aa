import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isMatching, isTopicFilter, isTopicName, TopicTree } from '#mqtt/topic'

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

test('the tree finds the filters that match, and nothing is left of deleted ones', () => {
  fc.assert(
    fc.property(fc.uniqueArray(filters.filter(isTopicFilter)), fc.array(topics), (all, published) => {
      const tree = new TopicTree<string>()
      for (const filter of all) tree.add(filter, filter)
      for (const topic of published) {
        expect(tree.matching(topic).sort()).toEqual(all.filter((filter) => isMatching(filter, topic)).sort())
      }
      for (const filter of all) tree.delete(filter, filter)
      expect([tree.size, tree.levels, tree.openLevels, tree.matching('a/b')]).toEqual([0, 0, 0, []])
    }),
  )
})
