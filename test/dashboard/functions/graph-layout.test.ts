import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { boxHeight, boxWidth, layoutOf, type PlacedNode } from '#dashboard/pages/functions/graph-layout'

type Edge = readonly [from: number, to: number]

const placesOf = (keys: readonly number[], edges: readonly Edge[]) =>
  new Map(layoutOf(keys, edges).nodes.map((node) => [node.key, node]))

test('a chain is one column from top to bottom', () => {
  const places = [
    ...placesOf(
      [1, 2, 3],
      [
        [1, 2],
        [2, 3],
      ],
    ).values(),
  ]
  expect(new Set(places.map(({ x }) => x)).size).toBe(1)
  expect(places.map(({ y }) => y)).toEqual(places.map(({ y }) => y).toSorted((a, b) => a - b))
})

test('avoidable crossings are avoided', () => {
  const places = placesOf(
    [1, 2, 3, 4],
    [
      [1, 4],
      [2, 3],
    ],
  )
  const placeOf = (key: number) => places.get(key)?.x ?? 0
  expect(placeOf(1) < placeOf(2)).toBe(placeOf(4) < placeOf(3))
})

test('an edge over several layers has a point in each of them', () => {
  const { edges } = layoutOf(
    [1, 2, 3, 4],
    [
      [1, 2],
      [2, 3],
      [3, 4],
      [1, 4],
    ],
  )
  expect(edges.map(({ points }) => points.length)).toEqual([2, 2, 2, 4])
})

test('an empty graph has an empty layout', () => {
  expect(layoutOf([], [])).toMatchObject({ nodes: [], edges: [] })
})

describe('any graph', () => {
  const graphs = fc.integer({ min: 1, max: 14 }).chain((count) =>
    fc.record({
      keys: fc.constant(Array.from({ length: count }, (_, place) => place + 1)),
      edges: fc.array(fc.tuple(fc.integer({ min: 1, max: count }), fc.integer({ min: 1, max: count })), {
        maxLength: 30,
      }),
    }),
  )

  test('has boxes that are within the picture and do not overlap', () => {
    fc.assert(
      fc.property(graphs, ({ keys, edges }) => {
        const { nodes, width, height } = layoutOf(keys, edges)
        expect(nodes.map(({ key }) => key)).toEqual(keys)
        for (const { x, y } of nodes) {
          expect(x - boxWidth / 2 >= 0 && x + boxWidth / 2 <= width).toBe(true)
          expect(y - boxHeight / 2 >= 0 && y + boxHeight / 2 <= height).toBe(true)
        }
        for (const [place, one] of nodes.entries()) {
          for (const other of nodes.slice(place + 1)) expect(areApart(one, other)).toBe(true)
        }
      }),
    )
  })

  test('without a cycle has only edges that point down', () => {
    fc.assert(
      fc.property(graphs, ({ keys, edges }) => {
        const forward = edges.filter(([from, to]) => from < to)
        const places = placesOf(keys, forward)
        for (const [from, to] of forward) expect(places.get(to)?.y).toBeGreaterThan(places.get(from)?.y ?? Infinity)
      }),
    )
  })
})

function areApart(one: PlacedNode, other: PlacedNode): boolean {
  return Math.abs(one.x - other.x) >= boxWidth || Math.abs(one.y - other.y) >= boxHeight
}
