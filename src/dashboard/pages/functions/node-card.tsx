import { useEffect, useId, useRef } from 'preact/hooks'
import { useNames } from '#dashboard/binding/known-names'
import { Button } from '#dashboard/components/button'
import { Checkbox, Field, TextField } from '#dashboard/components/fields'
import { useCall } from '#dashboard/components/use-call'
import {
  type Draft,
  type DraftNode,
  type GraphFaults,
  isEnd,
  isTrigger,
  kindWords,
  mayLead,
  type NodeKind,
  nodeInWords,
  stepKinds,
  triggerKinds,
  withChangedNode,
  withEdge,
  withNode,
  withoutNode,
} from '#dashboard/pages/functions/graph-draft'
import { GraphPicture } from '#dashboard/pages/functions/graph-picture'
import { NodeFields, type NodeProps } from '#dashboard/pages/functions/node-fields'
import { client } from '#dashboard/session'

/** The element id for clicks in the picture. */
function cardId(node: DraftNode): string {
  return `node-${node.key}`
}

export function showCard(node: DraftNode): void {
  const card = document.getElementById(cardId(node))
  card?.scrollIntoView({ block: 'nearest' })
  card?.focus({ preventScroll: true })
}

function NodeCard(props: NodeProps) {
  const { node, draft, onDraft, faults } = props
  const headingId = useId()
  const { title, effect } = kindWords[node.kind]
  const remove = () => {
    const place = draft.nodes.indexOf(node)
    const beside = draft.nodes[place - 1] ?? draft.nodes[place + 1]
    if (beside) showCard(beside)
    onDraft(withoutNode(draft, node.key))
  }
  return (
    <li class={`node-card ${faults.length > 0 ? 'faulty' : ''}`}>
      <section id={cardId(node)} tabIndex={-1} aria-labelledby={headingId}>
        <header>
          <h3 id={headingId}>
            {title} <span class="soft code">{node.id}</span>
          </h3>
          <Button kind="quiet" label={`Remove ${node.id}`} onPress={remove}>
            ×
          </Button>
        </header>
        <p class="hint">{effect}.</p>
        <Faults faults={faults} />
        <NodeFields {...props} onNode={(changed) => onDraft(withChangedNode(draft, changed))} />
        <details>
          <summary>Name</summary>
          <TextField
            label="Name of this step"
            hint="Letters, digits and . _ -. Error messages contain it."
            value={node.id}
            onChange={(id) => onDraft(withChangedNode(draft, { ...node, id }))}
            maxLength={64}
            isCode
          />
        </details>
        {!isEnd(node) && <Successors {...props} />}
      </section>
    </li>
  )
}

function Faults({ faults }: Pick<NodeProps, 'faults'>) {
  if (faults.length === 0) return null
  return (
    <div class="problem" role="alert">
      {faults.map((fault) => (
        <p key={fault}>{fault}</p>
      ))}
    </div>
  )
}

/** The successors of a node: existing steps, or a new step. */
function Successors({ node, draft, onDraft }: NodeProps) {
  const isBehind = (other: DraftNode) => draft.edges.some(([from, to]) => from === node.key && to === other.key)
  const others = draft.nodes.filter((other) => isBehind(other) || mayLead(draft, node, other))
  return (
    <Field label={others.some(isBehind) ? 'Then' : 'Then: no step'}>
      {others.map((other) => (
        <Checkbox
          key={other.key}
          label={`${other.id} (${kindWords[other.kind].title.toLowerCase()})`}
          value={isBehind(other)}
          onChange={(isConnected) => onDraft(withEdge(draft, node.key, other.key, isConnected))}
        />
      ))}
      <KindButtons kinds={stepKinds} behind={node.id} onKind={(kind) => onDraft(withNode(draft, kind, node.key))} />
    </Field>
  )
}

export interface GraphEditorProps {
  readonly draft: Draft
  readonly onDraft: (draft: Draft) => void
  readonly faults: GraphFaults
  readonly isChecked: boolean
  readonly isReadOnly?: boolean | undefined
  /** The devices of the function; undefined: all. */
  readonly devices: readonly string[] | undefined
}

/** A graph as a picture and as cards, one for each node. The picture shows the order, the cards are edited. */
export function GraphEditor(props: GraphEditorProps) {
  const { draft, onDraft, faults, isReadOnly } = props
  const names = useNames()
  const templates = useCall(() => client.call('GET /templates'), []).value?.map(({ name }) => name)
  const { nodes, nextKey } = draft
  const hasTrigger = nodes.some(isTrigger)
  // Shows the card of a new node.
  const known = useRef(nextKey)
  useEffect(() => {
    const isNew = nextKey > known.current
    known.current = nextKey
    const last = nodes.at(-1)
    if (isNew && last) showCard(last)
  }, [nextKey])
  return (
    <div class="graph-editor">
      <div class="graph-side">
        <GraphPicture draft={draft} names={names} faults={faults} trail={undefined} onNode={showCard} />
        {nodes.length > 0 && !(nodes.some(isEnd) && hasTrigger) && <p class="hint">The function sends nothing yet.</p>}
        <Faults faults={faults.others} />
        {!isReadOnly && (
          <Field label={hasTrigger ? 'Other triggers' : 'Triggers'}>
            <KindButtons kinds={triggerKinds} onKind={(kind) => onDraft(withNode(draft, kind))} />
          </Field>
        )}
      </div>
      <ol class="node-cards" aria-label="Steps">
        {nodes.map((node) =>
          isReadOnly ? (
            <li key={node.key} class="node-card">
              <section id={cardId(node)} tabIndex={-1} aria-label={node.id}>
                <h3>{kindWords[node.kind].title}</h3>
                <p>{nodeInWords(node, names)}</p>
              </section>
            </li>
          ) : (
            <NodeCard
              key={node.key}
              {...props}
              node={node}
              names={names}
              templates={templates}
              faults={faults.byNode.get(node.key) ?? []}
            />
          ),
        )}
      </ol>
    </div>
  )
}

interface KindButtonsProps {
  readonly kinds: readonly NodeKind[]
  /** The node that gets a successor. */
  readonly behind?: string
  readonly onKind: (kind: NodeKind) => void
}

/** Buttons that add a node. */
function KindButtons({ kinds, behind, onKind }: KindButtonsProps) {
  return (
    <div class="actions">
      {kinds.map((kind) => {
        const { title } = kindWords[kind]
        const label = behind === undefined ? undefined : `Behind ${behind}: ${title.toLowerCase()}`
        return (
          <Button key={kind} label={label} onPress={() => onKind(kind)}>
            + {title}
          </Button>
        )
      })}
    </div>
  )
}
