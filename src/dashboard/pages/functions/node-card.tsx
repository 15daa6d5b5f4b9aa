import { useId } from 'preact/hooks'
import {
  type Draft,
  type DraftNode,
  isTrigger,
  kindWords,
  mayLead,
  type NodeKind,
  stepKinds,
  withChanged,
  withEdge,
  withNode,
  withoutNode,
} from '#dashboard/pages/functions/graph-draft'
import type { Trail } from '#dashboard/pages/functions/graph-picture'
import { NodeFields } from '#dashboard/pages/functions/node-fields'
import { type Names, nodeInWords } from '#dashboard/pages/functions/node-words'
import { Button } from '#dashboard/parts/button'
import { Checkbox, Field, TextField } from '#dashboard/parts/fields'
import { Status } from '#dashboard/parts/status'

export interface NodeCardProps {
  readonly node: DraftNode
  readonly draft: Draft
  readonly onDraft: (draft: Draft) => void
  readonly names: Names
  readonly services: readonly string[]
  readonly templates: readonly string[] | undefined
  readonly faults: readonly string[]
  readonly isChecked: boolean
  readonly trail: Trail | undefined
}

/** By which a press in the picture finds it. */
export function cardId(node: DraftNode): string {
  return `node-${node.key}`
}

/** One node: what it does, and what comes behind it. */
export function NodeCard(props: NodeCardProps) {
  const { node, draft, onDraft, faults, trail } = props
  const headingId = useId()
  const { title, does } = kindWords[node.kind]
  return (
    <li class={`node-card ${faults.length > 0 ? 'faulty' : ''}`}>
      <section id={cardId(node)} tabIndex={-1} aria-labelledby={headingId}>
        <header>
          <h3 id={headingId}>
            {title} <span class="soft code">{node.id}</span>
          </h3>
          <Passed node={node} trail={trail} />
          <Button kind="quiet" label={`Remove ${node.id}`} onPress={() => onDraft(withoutNode(draft, node.key))}>
            ×
          </Button>
        </header>
        <p class="hint">{does}.</p>
        {faults.length > 0 && (
          <ul class="problem" role="alert">
            {faults.map((fault) => (
              <li key={fault}>{fault}</li>
            ))}
          </ul>
        )}
        <NodeFields {...props} onNode={(changed) => onDraft(withChanged(draft, changed))} />
        <details>
          <summary>Name</summary>
          <TextField
            label="Name of this step"
            hint="Letters, digits and . _ -; what goes wrong is told by it."
            value={node.id}
            onInput={(id) => onDraft(withChanged(draft, { ...node, id }))}
            maxLength={64}
            isCode
          />
        </details>
        {node.kind !== 'email' && <Behind {...props} />}
      </section>
    </li>
  )
}

/** The same for who may look and not touch. */
export function NodeView({ node, names, trail }: Pick<NodeCardProps, 'node' | 'names' | 'trail'>) {
  return (
    <li class="node-card">
      <section id={cardId(node)} tabIndex={-1} aria-label={node.id}>
        <header>
          <h3>{kindWords[node.kind].title}</h3>
          <Passed node={node} trail={trail} />
        </header>
        <p>{nodeInWords(node, names)}</p>
      </section>
    </li>
  )
}

function Passed({ node, trail }: { readonly node: DraftNode; readonly trail: Trail | undefined }) {
  if (!trail) return null
  const stop = trail.stopped.find((each) => each.node === node.id)
  if (stop) {
    return (
      <Status state="stopped" tone="warning">
        stopped: {stop.because}
      </Status>
    )
  }
  return trail.path.includes(node.id) ? (
    <Status state="entered" tone="good" />
  ) : (
    <Status state="not reached" tone="quiet" />
  )
}

/** Where it goes on: to steps that there are, or to a new one. */
function Behind({ node, draft, onDraft }: NodeCardProps) {
  const isBehind = (other: DraftNode) => draft.edges.some(([from, to]) => from === node.key && to === other.key)
  const others = draft.nodes.filter((other) => isBehind(other) || mayLead(draft, node, other))
  const addNode = (kind: NodeKind) => {
    onDraft(withNode(draft, kind, node.key))
  }
  return (
    <Field label={others.some(isBehind) ? 'Then' : 'Then: nothing yet'}>
      {others.map((other) => (
        <Checkbox
          key={other.key}
          label={`${other.id} (${kindWords[other.kind].title.toLowerCase()})`}
          isChecked={isBehind(other)}
          onChange={(isThere) => onDraft(withEdge(draft, node.key, other.key, isThere))}
        />
      ))}
      <div class="actions">
        {stepKinds.map((kind) => (
          <Button
            key={kind}
            label={`Behind ${node.id}: ${kindWords[kind].title.toLowerCase()}`}
            onPress={() => addNode(kind)}
          >
            + {kindWords[kind].title}
          </Button>
        ))}
      </div>
    </Field>
  )
}

/** Of a draft whether it sends anything. */
export function sendsMail({ nodes }: Draft): boolean {
  return nodes.some(({ kind }) => kind === 'email') && nodes.some(isTrigger)
}
