import { useMemo, useState } from 'preact/hooks'
import type { Body, Item } from '#client/client'
import { type Binding, bindingInWords, bodyOfBinding } from '#dashboard/binding/binding'
import { BindingEditor } from '#dashboard/binding/binding-editor'
import { useGroups } from '#dashboard/binding/known-names'
import { boundDevices } from '#dashboard/binding/target'
import { type Editing, EditPage } from '#dashboard/components/edit-page'
import { Checkbox, TextField, useFields } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Link } from '#dashboard/components/link'
import { Section } from '#dashboard/components/page'
import { detailsOf } from '#dashboard/components/problem-text'
import { Status } from '#dashboard/components/status'
import { Deliveries } from '#dashboard/pages/functions/deliveries'
import { FunctionTest } from '#dashboard/pages/functions/function-test'
import { draftOf, emptyDraft, graphOf } from '#dashboard/pages/functions/graph-draft'
import {
  faultsIn,
  faultsOfDetails,
  type GraphFaults,
  hasFaults,
  noFaults,
} from '#dashboard/pages/functions/graph-faults'
import { GraphEditor } from '#dashboard/pages/functions/node-card'
import { WebhookSecrets, withSecretsKept } from '#dashboard/pages/functions/webhook-secrets'
import type { PageProps } from '#dashboard/routes'
import { client, mayUser } from '#dashboard/session'
import '#dashboard/pages/functions/functions.css'

type Fn = Item<'GET /functions'>
type FunctionBody = Body<'POST /functions'>

/** A function, or a new function if the id is `new`. */
export default function FunctionPage({ params: { id = '' } }: PageProps) {
  const isNew = id === 'new'
  const parameters = { functionId: id }
  return (
    <EditPage<Fn, FunctionBody>
      kind="function"
      listPath="/functions"
      isNew={isNew}
      read={() => client.call('GET /functions/:functionId', { parameters })}
      create={async (body) => withSecretsKept(await client.call('POST /functions', { body }))}
      save={async (body, precondition) =>
        withSecretsKept(await client.call('PATCH /functions/:functionId', { ...precondition, parameters, body }))
      }
      remove={() => client.call('DELETE /functions/:functionId', { parameters })}
      mayDelete={mayUser('functions', 'delete')}
      deleteEffect="All subscriptions to it end, and the subscribers are notified. Its templates stay."
      notFoundText="A function needs permission to read its triggers on all of these devices."
      beside={(fn) => fn && <Status state={fn.enabled ? 'enabled' : 'disabled'} />}
      actions={() =>
        mayUser('notifications', 'create') && (
          <Link to={`/notifications?function=${id}`} class="button">
            Subscribe
          </Link>
        )
      }
    >
      {(editing) => (
        <>
          <WebhookSecrets functionId={id} />
          <FunctionForm {...editing} isReadOnly={!isNew && !mayUser('functions', 'update')} />
          {editing.start?.graph.nodes.some(({ type }) => type === 'webhook') && <Deliveries functionId={id} />}
          {editing.start && <FunctionTest id={id} graph={editing.start.graph} isDirty={editing.isDirty} />}
        </>
      )}
    </EditPage>
  )
}

interface FunctionFormProps extends Editing<Fn, FunctionBody> {
  readonly isReadOnly: boolean
}

/** A function: its graph, its name, and its devices. */
function FunctionForm({ start, touch, save, form, isReadOnly }: FunctionFormProps) {
  const [serverFaults, setServerFaults] = useState<GraphFaults>(noFaults)
  const { values, set, field } = useFields(
    () => ({
      name: start?.name ?? '',
      enabled: start?.enabled ?? true,
      binding: (start?.binding ?? {}) as Binding,
      draft: start ? draftOf(start.graph) : emptyDraft,
    }),
    () => {
      setServerFaults(noFaults)
      touch()
    },
  )
  const { binding, draft } = values
  const [isChecked, setChecked] = useState(false)
  const groups = useGroups()
  const devices = useMemo(() => boundDevices(binding, groups ?? []), [binding, groups])
  // The server's faults are about the draft that was sent, so the next change removes them.
  const faults = hasFaults(serverFaults) ? serverFaults : isChecked ? faultsIn(draft) : noFaults
  const submit = async () => {
    setChecked(true)
    setServerFaults(noFaults)
    if (hasFaults(faultsIn(draft))) throw new Error('The graph is incomplete: see the marked steps')
    try {
      const { name, enabled } = values
      await save({ name, enabled, binding: bodyOfBinding(binding), graph: graphOf(draft) })
    } catch (problem) {
      setServerFaults(faultsOfDetails(draft, detailsOf(problem)))
      throw problem
    }
  }
  const graph = (
    <Section title="Steps">
      <GraphEditor
        draft={draft}
        onDraft={(next) => set({ draft: next })}
        {...{ faults, isChecked, isReadOnly, devices }}
      />
    </Section>
  )
  if (isReadOnly) {
    return (
      <>
        {graph}
        <Section title="Applies to">
          <p>{bindingInWords(binding, groups ?? [])}</p>
        </Section>
      </>
    )
  }
  return (
    <Form {...form} onSubmit={submit}>
      {graph}
      <Section title="Name and devices">
        <div class="form">
          <TextField label="Name" {...field('name')} maxLength={128} isRequired placeholder="Heat" />
          <Checkbox
            label="Enabled"
            hint="A disabled function does nothing; subscriptions stay."
            {...field('enabled')}
          />
          <BindingEditor label="Applies to" {...field('binding')} groups={groups} />
        </div>
      </Section>
      <p class="hint">
        The user who saves a function is its author. It works on devices whose triggers the author may read.
      </p>
    </Form>
  )
}
