import { expect, test } from 'vitest'
import { type Component, Components } from '#app/components'

const steps: string[] = []

function componentOf(name: string, more: Component = {}): Component {
  const step = (verb: string) => () => steps.push(`${verb} ${name}`)
  return {
    open: async () => steps.push(`open ${name}`),
    reloaded: (isRewound) => steps.push(`reloaded ${name} ${isRewound}`),
    tenantEnded: (tenant) => steps.push(`ended ${name} ${tenant}`),
    stop: step('stop'),
    close: step('close'),
    ...more,
  }
}

test('components close in reverse order, and all of them close if one cannot open', async () => {
  const components = new Components([componentOf('a'), {}, componentOf('b')])
  await components.open()
  components.reloaded(true)
  components.tenantEnded('t')
  expect(steps.splice(0)).toEqual(['open a', 'open b', 'reloaded a true', 'reloaded b true', 'ended a t', 'ended b t'])
  await components.close()
  const closed = ['stop a', 'stop b', 'close b', 'close a']
  expect(steps.splice(0)).toEqual(closed)
  const open = () => Promise.reject(new Error('no'))
  await expect(new Components([componentOf('a'), componentOf('b', { open })]).open()).rejects.toThrow('no')
  expect(steps).toEqual(['open a', ...closed])
})
