import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { updateMachine } from '#actors/update/machine'
import { updateStates } from '#model/firmware'
import { arrowsOf, drawingOf } from '#test/actors/update/machine-drawing'

const begin = '<!-- the machine of updates, as test/actors/update/machine-drawing.test.ts draws it -->'
const end = '<!-- its end -->'

test('docs/update-states.md shows the present machine', () => {
  const text = readFileSync(new URL('../../../docs/update-states.md', import.meta.url), 'utf8')
  const [, drawn, ...more] = text.split(begin)
  expect(more).toEqual([])
  expect(drawn?.split(end)[0]?.trim()).toBe(drawingOf(updateMachine))
})

test('the machine has the published states, and each can be entered and left', () => {
  expect(Object.keys(updateMachine.config.states ?? {})).toEqual(updateStates)
  const arrows = arrowsOf(updateMachine)
  for (const state of updateStates) {
    expect(
      arrows.some(({ to }) => to === state),
      `to ${state}`,
    ).toBe(true)
    expect(
      arrows.some(({ from, to }) => from === state && to !== undefined),
      `from ${state}`,
    ).toBe(true)
  }
})
