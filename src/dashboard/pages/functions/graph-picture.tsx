import { useId, useMemo } from 'preact/hooks'
import type { Names } from '#dashboard/binding/binding'
import {
  type Draft,
  type DraftNode,
  type GraphFaults,
  isTrigger,
  nodeInWords,
} from '#dashboard/pages/functions/graph-draft'
import { boxHeight, boxWidth, type DrawnEdge, layoutOf, type PlacedNode } from '#dashboard/pages/functions/graph-layout'

/** The path of a test: the nodes that were entered, and the nodes where it stopped. */
interface Trail {
  readonly path: readonly string[]
  readonly stopped: readonly { readonly node: string; readonly because: string }[]
}

export interface GraphPictureProps {
  readonly draft: Draft
  readonly names: Names
  readonly faults: GraphFaults
  readonly trail: Trail | undefined
  readonly onNode: (node: DraftNode) => void
}

/** The number of characters that fit into a box at the font size of the picture. */
const charactersMax = 24

/**
 * The graph as a picture, from the triggers at the top to the mails at the bottom. A click on a node opens its card.
 */
export function GraphPicture({ draft, names, faults, trail, onNode }: GraphPictureProps) {
  const keys = draft.nodes.map(({ key }) => key)
  const layout = useMemo(() => layoutOf(keys, draft.edges), [keys.join(), draft.edges])
  const { width, height } = layout
  const arrow = useId()
  if (draft.nodes.length === 0) return null
  return (
    <div class="graph-frame">
      <svg class="graph" viewBox={`0 0 ${width} ${height}`} width={width} height={height}>
        <title>Picture of the graph</title>
        <defs>
          <marker
            id={arrow}
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerUnits="userSpaceOnUse"
            markerWidth="10"
            markerHeight="10"
            orient="auto"
          >
            <path d="M0 0 8 4 0 8z" class="graph-head" />
          </marker>
        </defs>
        {layout.edges.map((edge) => (
          <path
            key={`${edge.from} ${edge.to}`}
            d={lineOf(edge)}
            class={`graph-edge ${trail && isTaken(edge, draft, trail) ? 'taken' : ''}`}
            marker-end={`url(#${arrow})`}
          />
        ))}
        {layout.nodes.map((placed) => (
          <NodeBox key={placed.key} placed={placed} {...{ draft, names, faults, trail, onNode }} />
        ))}
      </svg>
    </div>
  )
}

function NodeBox({ placed, draft, names, faults, trail, onNode }: GraphPictureProps & { readonly placed: PlacedNode }) {
  const node = draft.nodes.find(({ key }) => key === placed.key)
  if (!node) return null
  const isEntered = trail?.path.includes(node.id)
  const isStopped = trail?.stopped.some((each) => each.node === node.id)
  const isFaulty = faults.byNode.has(node.key)
  const words = nodeInWords(node, names)
  const [id, line] = [shortened(node.id), shortened(words)]
  const labels = [isFaulty && 'invalid', isStopped ? 'stopped here' : isEntered && 'entered'].filter(Boolean).join(', ')
  const classes = [
    'graph-node',
    isTrigger(node) ? 'trigger' : node.kind,
    isEntered && 'entered',
    isStopped && 'stopped',
    isFaulty && 'faulty',
  ]
  const open = () => onNode(node)
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no button element
    <g
      class={classes.filter(Boolean).join(' ')}
      transform={`translate(${placed.x - boxWidth / 2} ${placed.y - boxHeight / 2})`}
      role="button"
      tabindex={0}
      aria-label={[id, line, line === words ? '' : words, labels].filter(Boolean).join(', ')}
      onClick={open}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return
        event.preventDefault()
        open()
      }}
    >
      <rect width={boxWidth} height={boxHeight} rx={isTrigger(node) ? boxHeight / 2 : 7} />
      <text x={boxWidth / 2} y={20} class="graph-id">
        {/* Colour must not be the only sign. */}
        {isFaulty ? '▲ ' : isStopped ? '✕ ' : isEntered ? '✓ ' : ''}
        {id}
      </text>
      {/* The space separates the two words for screen readers. */}{' '}
      <text x={boxWidth / 2} y={36}>
        {line}
      </text>
    </g>
  )
}

function isTaken(edge: DrawnEdge, { nodes }: Draft, { path, stopped }: Trail): boolean {
  const idOf = (key: number) => nodes.find((node) => node.key === key)?.id ?? ''
  const [from, to] = [idOf(edge.from), idOf(edge.to)]
  return path.includes(from) && path.includes(to) && !stopped.some(({ node }) => node === from)
}

/** Curves that leave downwards and arrive from above. */
function lineOf({ points }: DrawnEdge): string {
  const parts = points.map(({ x, y }, place) => {
    const above = points[place - 1]
    if (!above) return `M${x} ${y}`
    const middle = (above.y + y) / 2
    return `C${above.x} ${middle} ${x} ${middle} ${x} ${y}`
  })
  return parts.join('')
}

function shortened(text: string): string {
  const characters = [...text]
  return characters.length <= charactersMax ? text : `${characters.slice(0, charactersMax - 1).join('')}…`
}
