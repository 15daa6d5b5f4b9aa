import { expect, test } from 'vitest'
import { toggleSelection } from '#dashboard/pages/fleet/selection'

const rows = ['A', 'B', 'C', 'D', 'E']

test.each<[selected: string[], pressed: string, from: string | undefined, expected: string[]]>([
  [[], 'B', undefined, ['B']],
  [['B', 'C'], 'B', undefined, ['C']],
  [['B'], 'D', 'B', ['B', 'C', 'D']],
  [['D'], 'B', 'D', ['D', 'B', 'C']],
  [['A', 'B', 'C', 'D'], 'C', 'A', ['D']],
  // The row that was pressed before is not shown any more.
  [['X'], 'C', 'X', ['X', 'C']],
])('%j, and a press on %s after %s: %j', (selected, pressed, from, expected) => {
  expect([...toggleSelection(new Set(selected), rows, pressed, from)]).toEqual(expected)
})
