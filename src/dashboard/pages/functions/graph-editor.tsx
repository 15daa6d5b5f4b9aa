import { useEffect, useRef } from 'preact/hooks'
import { useKnownServices, useSchemas } from '#dashboard/binding/known'
import {
  type Draft,
  isTrigger,
  kindWords,
  type NodeKind,
  triggerKinds,
  withNode,
} from '#dashboard/pages/functions/graph-draft'
import type { GraphFaults } from '#dashboard/pages/functions/graph-faults'
import { GraphPicture } from '#dashboard/pages/functions/graph-picture'
import { NodeCard, NodeView, sendsMail, showCard } from '#dashboard/pages/functions/node-card'
import { useAlarmNames, useTemplateNames } from '#dashboard/pages/functions/use-names'
import { Button } from '#dashboard/parts/button'

export interface GraphEditorProps {
  readonly draft: Draft
  readonly onDraft: (draft: Draft) => void
  readonly faults: GraphFaults
  readonly isChecked: boolean
  readonly isReadOnly?: boolean | undefined
}

/** A graph as a picture and as cards, one for each node: the picture shows how it goes on, the cards are what is edited. */
export function GraphEditor(props: GraphEditorProps) {
  const { draft, onDraft, faults, isReadOnly } = props
  const names = { schemas: useSchemas(), alarms: useAlarmNames() }
  const services = useKnownServices()
  const templates = useTemplateNames()
  useNewCard(draft)
  return (
    <div class="graph-editor">
      <div class="graph-side">
        <GraphPicture draft={draft} names={names} faults={faults} trail={undefined} onNode={showCard} />
        {draft.nodes.length > 0 && !sendsMail(draft) && <p class="hint">It sends no mail yet.</p>}
        {faults.others.length > 0 && (
          <div class="problem" role="alert">
            {faults.others.map((fault) => (
              <p key={fault}>{fault}</p>
            ))}
          </div>
        )}
        {!isReadOnly && <Beginnings draft={draft} onDraft={onDraft} />}
      </div>
      <ol class="node-cards" aria-label="Steps">
        {draft.nodes.map((node) =>
          isReadOnly ? (
            <NodeView key={node.key} node={node} names={names} />
          ) : (
            <NodeCard
              key={node.key}
              {...props}
              node={node}
              names={names}
              services={services}
              templates={templates}
              faults={faults.byNode.get(node.key) ?? []}
            />
          ),
        )}
      </ol>
    </div>
  )
}

/** What may set it off. */
function Beginnings({ draft, onDraft }: Pick<GraphEditorProps, 'draft' | 'onDraft'>) {
  const add = (kind: NodeKind) => onDraft(withNode(draft, kind))
  return (
    <fieldset class="field">
      <legend>{draft.nodes.some(isTrigger) ? 'Begins also' : 'Begins'}</legend>
      <div class="actions">
        {triggerKinds.map((kind) => (
          <Button key={kind} onPress={() => add(kind)}>
            + {kindWords[kind].title}
          </Button>
        ))}
      </div>
    </fieldset>
  )
}

/** Whoever adds a node goes on in it. */
function useNewCard({ nodes, nextKey }: Draft): void {
  const known = useRef(nextKey)
  useEffect(() => {
    const isNew = nextKey > known.current
    known.current = nextKey
    const last = nodes.at(-1)
    if (isNew && last) showCard(last)
  }, [nextKey])
}
