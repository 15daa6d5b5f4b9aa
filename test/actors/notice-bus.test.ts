import { expect, test } from 'vitest'
import { noticeBus } from '#actors/notice-bus'
import { RecordingRules } from '#test/actors/recording-notices'

test('a notice reaches all listeners in order, but no listener that is not serving', () => {
  const received: string[] = []
  const [first, second] = [new RecordingRules(), new RecordingRules()]
  const bus = noticeBus(first)
  let isServing = false
  bus.listen({ groupChanged: () => received.push(`behind ${first.lines.length}`) }, () => isServing)
  bus.listen(second, () => isServing)
  bus.groupChanged('t', 'g', undefined)
  bus.topicEnded('t', 'f')
  expect([first.received, second.received, received]).toEqual([['group t/g gone'], [], []])
  isServing = true
  bus.groupChanged('t', 'g', undefined)
  bus.alarmChanged('t', 'a', undefined)
  expect(received).toEqual(['behind 1'])
  expect(second.received).toEqual(['group t/g gone', 'alarm t/a gone'])
})
