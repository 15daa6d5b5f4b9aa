import { useState } from 'preact/hooks'
import type { Body, Item } from '#client/client'
import { type Binding, bindingInWords, bodyOfBinding } from '#dashboard/binding/binding'
import { BindingEditor } from '#dashboard/binding/binding-editor'
import { useGroups, useKnownDevices } from '#dashboard/binding/known'
import { type Draft, draftOf, emptyDraft, graphOf } from '#dashboard/pages/functions/graph-draft'
import { GraphEditor } from '#dashboard/pages/functions/graph-editor'
import {
  type Detail,
  faultsIn,
  type GraphFaults,
  hasFaults,
  noFaults,
  placed,
} from '#dashboard/pages/functions/graph-faults'
import { detailUnder } from '#dashboard/parts/details'
import { Checkbox, TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { Section } from '#dashboard/parts/page'
import { useDraftForm } from '#dashboard/parts/use-draft-form'

type FunctionBody = Body<'POST /functions'>

export interface FunctionFormProps {
  /** Without one it is a new function. */
  readonly start?: Item<'GET /functions'> | undefined
  readonly submit: string
  readonly onSubmit: (body: FunctionBody) => Promise<void>
  /** Shown, with nothing to change. */
  readonly isReadOnly?: boolean | undefined
  readonly isDirty?: boolean | undefined
  readonly onDirty?: (() => void) | undefined
}

/** A function: its graph, what it is called, where it works. */
export function FunctionForm(props: FunctionFormProps) {
  const { start, submit, onSubmit, isReadOnly, isDirty, onDirty } = props
  const [name, setName] = useState(start?.name ?? '')
  const [isEnabled, setEnabled] = useState(start?.enabled ?? true)
  const [binding, setBinding] = useState<Binding>(start?.binding ?? {})
  const [draft, setDraft] = useState<Draft>(() => (start ? draftOf(start.graph) : emptyDraft))
  const [isChecked, setChecked] = useState(false)
  const { problem, touch: touchAny, send, form } = useDraftForm({ isDirty, onDirty })
  const [told, setTold] = useState<GraphFaults>(noFaults)
  const groups = useGroups()
  const devices = useKnownDevices()
  // What the server said is about what was sent: it goes with the next change.
  const faults = hasFaults(told) ? told : isChecked ? faultsIn(draft) : noFaults
  const touch = <Value,>(set: (value: Value) => void) => {
    return (value: Value) => {
      set(value)
      setTold(noFaults)
      touchAny()
    }
  }
  const submitAll = () => {
    setChecked(true)
    setTold(noFaults)
    return send(async () => {
      if (hasFaults(faultsIn(draft))) throw new Error('The graph is not complete yet: see what is marked in it')
      try {
        await onSubmit({ name, enabled: isEnabled, binding: bodyOfBinding(binding), graph: graphOf(draft) })
      } catch (thrown) {
        setTold(placed(draft, detailsOf(thrown)))
        throw thrown
      }
    }, 'You may not read what begins it on all of these devices.')
  }
  const graph = (
    <Section title="What it does">
      <GraphEditor draft={draft} onDraft={touch(setDraft)} {...{ faults, isChecked, isReadOnly }} />
    </Section>
  )
  if (isReadOnly) {
    return (
      <>
        {graph}
        <Section title="Where">
          <p>{bindingInWords(binding, groups ?? [])}</p>
        </Section>
      </>
    )
  }
  return (
    <Form submit={submit} onSubmit={submitAll} label={start ? 'Function' : 'New function'} {...form}>
      {graph}
      <Section title="Name and place">
        <div class="form">
          <TextField
            label="Name"
            value={name}
            onInput={touch(setName)}
            maxLength={128}
            isRequired
            placeholder="Heat"
            problem={detailUnder(problem, 'name')}
          />
          <Checkbox
            label="Works"
            hint="Disabled it does nothing, and people stay subscribed."
            isChecked={isEnabled}
            onChange={touch(setEnabled)}
          />
          <BindingEditor
            label="On which devices"
            value={binding}
            onChange={touch(setBinding)}
            groups={groups}
            devices={devices}
            problem={detailUnder(problem, 'binding')}
          />
        </div>
      </Section>
      <p class="hint">Whoever saves it is its author: it counts where its author may read what begins it.</p>
    </Form>
  )
}

function detailsOf(problem: unknown): readonly Detail[] {
  return (problem as { readonly details?: readonly Detail[] } | undefined)?.details ?? []
}
