/**
 * Positions of the nodes in a picture: layers from top to bottom, each node below its predecessors, ordered for few
 * crossing edges (Sugiyama, Tagawa and Toda, 1981). An edge over several layers has a slot in each of them. Works for
 * any graph, even with a cycle.
 */

interface Point {
  readonly x: number
  readonly y: number
}

/** `x` and `y` are the centre of the box. */
export interface PlacedNode extends Point {
  readonly key: number
}

export interface DrawnEdge {
  readonly from: number
  readonly to: number
  /** From the start to the end, with a point in each layer between. */
  readonly points: readonly Point[]
}

export interface Layout {
  readonly width: number
  readonly height: number
  readonly nodes: readonly PlacedNode[]
  readonly edges: readonly DrawnEdge[]
}

/** In pixels; the picture scales as a whole. */
export const boxWidth = 168
export const boxHeight = 48
const gapAcross = 24
const gapDown = 44
const margin = 8
/** The width of the slot of an edge that passes through a layer. */
const passWidth = 24

/** Rounds of sorting, downwards and upwards; crossings that remain are accepted. */
const rounds = 8

interface Slot {
  readonly key: number
  readonly width: number
  readonly before: Slot[]
  readonly behind: Slot[]
  at: number
}

export function layoutOf(keys: readonly number[], edges: readonly (readonly [from: number, to: number])[]): Layout {
  const known = new Set(keys)
  const validEdges = edges.filter(([from, to]) => from !== to && known.has(from) && known.has(to))
  const layers = layersOf(keys, validEdges)
  const slots = new Map(keys.map((key) => [key, newSlot(key, boxWidth)]))
  const rows: Slot[][] = Array.from({ length: Math.max(0, ...layers.values()) + 1 }, () => [])
  for (const [key, slot] of slots) rows[layers.get(key) ?? 0]?.push(slot)
  const edgeRoutes = validEdges.map(([from, to]) =>
    routeOf(slots.get(from) as Slot, slots.get(to) as Slot, layers, rows),
  )
  for (let round = 0; round < rounds; round++) sortRows(rows, round % 2 === 0)
  const width = Math.max(...rows.map(widthOf))
  for (const row of rows) spread(row, width)
  const yOf = (layer: number) => margin + boxHeight / 2 + layer * (boxHeight + gapDown)
  return {
    width: width + 2 * margin,
    height: 2 * margin + rows.length * (boxHeight + gapDown) - gapDown,
    nodes: [...slots].map(([key, { at }]) => ({ key, x: at, y: yOf(layers.get(key) ?? 0) })),
    edges: edgeRoutes.map(({ from, to, through }) => ({
      from: from.key,
      to: to.key,
      points: pointsOf(from, to, through),
    })),
  }

  function pointsOf(from: Slot, to: Slot, through: readonly Slot[]): readonly Point[] {
    const [top, bottom] = [layers.get(from.key) ?? 0, layers.get(to.key) ?? 0]
    const isDown = bottom > top
    return [
      { x: from.at, y: yOf(top) + boxHeight / 2 },
      ...through.map(({ at }, place) => ({ x: at, y: yOf(top + 1 + place) })),
      { x: to.at, y: isDown ? yOf(bottom) - boxHeight / 2 : yOf(bottom) + boxHeight / 2 },
    ]
  }
}

/** The layer of each node: one below its lowest predecessor. A limit stops cycles. */
function layersOf(
  keys: readonly number[],
  edges: readonly (readonly [from: number, to: number])[],
): ReadonlyMap<number, number> {
  const layers = new Map(keys.map((key) => [key, 0]))
  for (let round = 0, hasMoved = true; hasMoved && round < keys.length; round++) {
    hasMoved = false
    for (const [from, to] of edges) {
      const least = (layers.get(from) ?? 0) + 1
      if ((layers.get(to) ?? 0) >= least || least >= keys.length) continue
      layers.set(to, least)
      hasMoved = true
    }
  }
  // With cycles, some layers may be empty.
  const used = [...new Set(layers.values())].sort((a, b) => a - b)
  return new Map([...layers].map(([key, layer]) => [key, used.indexOf(layer)]))
}

interface EdgeRoute {
  readonly from: Slot
  readonly to: Slot
  readonly through: readonly Slot[]
}

function routeOf(from: Slot, to: Slot, layers: ReadonlyMap<number, number>, rows: readonly Slot[][]): EdgeRoute {
  const [top, bottom] = [layers.get(from.key) ?? 0, layers.get(to.key) ?? 0]
  const through: Slot[] = []
  let above = from
  for (let layer = top + 1; layer < bottom; layer++) {
    const pass = newSlot(0, passWidth)
    rows[layer]?.push(pass)
    through.push(pass)
    join(above, pass)
    above = pass
  }
  join(above, to)
  return { from, to, through }
}

/** Sorts by the mean position of the neighbours; a node without neighbours stays. */
function sortRows(rows: readonly Slot[][], isDown: boolean): void {
  for (const row of rows) for (const [place, slot] of row.entries()) slot.at = place
  for (const row of isDown ? rows : [...rows].reverse()) {
    const middles = new Map(row.map((slot) => [slot, middleOf(isDown ? slot.before : slot.behind) ?? slot.at]))
    row.sort((a, b) => (middles.get(a) ?? 0) - (middles.get(b) ?? 0))
    for (const [place, slot] of row.entries()) slot.at = place
  }
}

/** Places the slots side by side, and centres the row. */
function spread(row: readonly Slot[], width: number): void {
  let left = margin + (width - widthOf(row)) / 2
  for (const slot of row) {
    slot.at = left + slot.width / 2
    left += slot.width + gapAcross
  }
}

function widthOf(row: readonly Slot[]): number {
  return row.reduce((sum, { width }) => sum + width, 0) + Math.max(0, row.length - 1) * gapAcross
}

function middleOf(slots: readonly Slot[]): number | undefined {
  return slots.length === 0 ? undefined : slots.reduce((sum, { at }) => sum + at, 0) / slots.length
}

function newSlot(key: number, width: number): Slot {
  return { key, width, before: [], behind: [], at: 0 }
}

function join(above: Slot, below: Slot): void {
  above.behind.push(below)
  below.before.push(above)
}
