import { useMemo, useState } from 'preact/hooks'
import type { Answer, Body, Item } from '#client/client'
import { type Binding, bindingInWords, bodyOfBinding, idOf } from '#dashboard/binding/binding'
import { BindingEditor } from '#dashboard/binding/binding-fields'
import { useGroups } from '#dashboard/binding/known-names'
import { boundDevices } from '#dashboard/binding/target'
import { Button } from '#dashboard/components/button'
import { type Editing, EditPage } from '#dashboard/components/edit-page'
import { Checkbox, TextField, useFields } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Link } from '#dashboard/components/link'
import { OneTimeSecret } from '#dashboard/components/one-time-secret'
import { Section } from '#dashboard/components/page'
import { detailsOf } from '#dashboard/components/problem-text'
import { Status } from '#dashboard/components/status'
import { CallTable, type Column } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { useCall } from '#dashboard/components/use-call'
import { observable, useObservable } from '#dashboard/components/use-observable'
import { FunctionTest } from '#dashboard/pages/functions/function-test'
import {
  draftOf,
  emptyDraft,
  faultsIn,
  faultsOfDetails,
  type GraphFaults,
  graphOf,
  hasFaults,
  noFaults,
} from '#dashboard/pages/functions/graph-draft'
import { GraphEditor } from '#dashboard/pages/functions/node-card'
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
          {editing.start?.graph.nodes.some(({ type }) => type === 'webhook') && <Deliveries parameters={parameters} />}
          {editing.start && <FunctionTest id={id} graph={editing.start.graph} isDirty={editing.isDirty} />}
        </>
      )}
    </EditPage>
  )
}

/** A function: its graph, its name, and its devices. */
function FunctionForm(props: Editing<Fn, FunctionBody> & { readonly isReadOnly: boolean }) {
  const { start, touch, save, form, isReadOnly } = props
  const [serverFaults, setServerFaults] = useState<GraphFaults>(noFaults)
  const first = () => {
    const { name = '', enabled = true, binding = {} as Binding } = start ?? {}
    return { name, enabled, binding, draft: start ? draftOf(start.graph) : emptyDraft }
  }
  const { values, field } = useFields(first, () => {
    setServerFaults(noFaults)
    touch()
  })
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
      <GraphEditor draft={draft} onDraft={field('draft').onChange} {...{ faults, isChecked, isReadOnly, devices }} />
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

type Delivery = Answer<'GET /functions/:functionId/deliveries'>[number]

const reasons: Readonly<Record<NonNullable<Delivery['reason']>, string>> = {
  timeout: 'no answer in 15 s',
  connection: 'no connection',
  dns: 'unknown host',
  tls: 'no valid certificate',
  address: 'the address is not public',
  unbound: 'the function is disabled, or not bound to the device',
  disabled: 'the step is disabled',
  forbidden: 'the author may not read the trigger',
  secret: 'the secret cannot be read: remove the step and add it again',
  overflow: 'too many were waiting',
  rate: 'too many were requested',
}

const columns: readonly Column<Delivery>[] = [
  { title: 'Time', cell: ({ time }) => <Time at={time} /> },
  { title: 'Step', cell: ({ node }) => <span class="code">{node}</span> },
  {
    title: 'Status',
    cell: ({ status, count }) => (
      <>
        <Status state={status} tone={status === 'DELIVERED' ? 'good' : undefined} /> {count}
      </>
    ),
  },
  { title: 'Answer', cell: ({ httpStatus, reason }) => httpStatus ?? (reason && reasons[reason]) },
  { title: 'Attempts', align: 'end', cell: ({ attempts }) => attempts },
  { title: 'Next attempt', cell: ({ nextAt }) => nextAt !== undefined && <Time at={nextAt} /> },
]

/** The last webhooks of a function. Contract 12. */
function Deliveries({ parameters }: { readonly parameters: { readonly functionId: string } }) {
  const called = useCall(() => client.call('GET /functions/:functionId/deliveries', { parameters }), [])
  return (
    <Section
      title="Webhooks"
      actions={
        <Button kind="quiet" onPress={called.refresh}>
          Refresh
        </Button>
      }
    >
      <CallTable
        caption="Last webhooks"
        columns={columns}
        call={called}
        rowKey={({ id }) => id}
        empty={<p class="hint">Nothing was sent yet.</p>}
      />
    </Section>
  )
}

/** A secret that the server made for a webhook when the function was saved. */
interface MadeSecret {
  readonly functionId: string
  readonly node: string
  readonly secret: string
}

/** Outlives the page, because creating a function opens another page. */
const madeSecrets = observable<readonly MadeSecret[]>([])

/** Keeps the secrets of the answer to a save, and returns the answer without secrets, as later reads return it. */
function withSecretsKept<Saved extends Answer<'POST /functions'> | { readonly resourceIdentifier: string }>(
  saved: Saved,
): Saved {
  if (!('graph' in saved)) return saved
  const functionId = idOf(saved.resourceIdentifier)
  const made: MadeSecret[] = []
  const nodes = saved.graph.nodes.map((node) => {
    if (node.type !== 'webhook' || node.secret === undefined) return node
    const { secret, ...rest } = node
    made.push({ functionId, node: node.id, secret })
    return rest
  })
  madeSecrets.set([...madeSecrets.value, ...made])
  return { ...saved, graph: { ...saved.graph, nodes } }
}

function WebhookSecrets({ functionId }: { readonly functionId: string }) {
  const made = useObservable(madeSecrets)
  return made
    .filter((each) => each.functionId === functionId)
    .map((each) => (
      <OneTimeSecret
        key={each.secret}
        title={`The secret of ${each.node}`}
        secret={each.secret}
        label="Copy the secret"
        onDismiss={() => madeSecrets.set(madeSecrets.value.filter((other) => other !== each))}
      >
        <p>The receiver needs it to check the signature of each call, as Standard Webhooks describes it.</p>
      </OneTimeSecret>
    ))
}
