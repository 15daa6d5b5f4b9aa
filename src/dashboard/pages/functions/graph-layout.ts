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

type Edges = readonly (readonly [from: number, to: number])[]

/** The place of a node in its layer, or of an edge that passes through the layer. */
interface Slot {
  readonly layer: number
  readonly width: number
  readonly before: Slot[]
  readonly behind: Slot[]
  /** The place in the layer; at the end in pixels. */
  at: number
  /** The mean place of the neighbours by which the layer is sorted; without neighbours, its own place. */
  middle: number
}

export function layoutOf(keys: readonly number[], edges: Edges) {
  const known = new Set(keys)
  const validEdges = edges.filter(([from, to]) => from !== to && known.has(from) && known.has(to))
  const layers = layersOf(keys, validEdges)
  const rows: Slot[][] = Array.from({ length: Math.max(0, ...layers.values()) + 1 }, () => [])
  const addSlot = (layer: number, width: number): Slot => {
    const row = rows[layer] as Slot[]
    const slot = { layer, width, before: [], behind: [], at: row.length, middle: 0 }
    row.push(slot)
    return slot
  }
  const slots = new Map(keys.map((key) => [key, addSlot(layers.get(key) ?? 0, boxWidth)]))
  const routes = validEdges.map(([from, to]) => {
    const [start, end] = [slots.get(from) as Slot, slots.get(to) as Slot]
    const through: Slot[] = []
    for (let layer = start.layer + 1; layer < end.layer; layer++) through.push(addSlot(layer, passWidth))
    for (const [place, slot] of [...through, end].entries()) {
      const above = through[place - 1] ?? start
      above.behind.push(slot)
      slot.before.push(above)
    }
    return { from, to, start, through, end }
  })
  for (let round = 0; round < rounds; round++) sortRows(rows, round % 2 === 0)
  const width = Math.max(...rows.map(widthOf))
  for (const row of rows) spread(row, width)
  const pointOf = ({ layer, at }: Slot, toBorder: number) => {
    return { x: at, y: margin + boxHeight / 2 + layer * (boxHeight + gapDown) + toBorder }
  }
  return {
    width: width + 2 * margin,
    height: 2 * margin + rows.length * (boxHeight + gapDown) - gapDown,
    nodes: [...slots].map(([key, slot]) => ({ key, ...pointOf(slot, 0) })),
    edges: routes.map(
      ({ from, to, start, through, end }): DrawnEdge => ({
        from,
        to,
        points: [
          pointOf(start, boxHeight / 2),
          ...through.map((slot) => pointOf(slot, 0)),
          pointOf(end, end.layer > start.layer ? -boxHeight / 2 : boxHeight / 2),
        ],
      }),
    ),
  }
}

/** The layer of each node: one below its lowest predecessor. A limit stops cycles. */
function layersOf(keys: readonly number[], edges: Edges): ReadonlyMap<number, number> {
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

/** Sorts by the mean place of the neighbours; a node without neighbours stays. */
function sortRows(rows: readonly Slot[][], isDown: boolean): void {
  for (const row of isDown ? rows : rows.toReversed()) {
    for (const slot of row) {
      const neighbours = isDown ? slot.before : slot.behind
      const sum = neighbours.reduce((total, { at }) => total + at, 0)
      slot.middle = neighbours.length === 0 ? slot.at : sum / neighbours.length
    }
    row.sort((a, b) => a.middle - b.middle)
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
  return row.reduce((sum, { width }) => sum + width + gapAcross, -gapAcross)
}
