import { useMemo, useState } from 'preact/hooks'
import type { Body, Item } from '#client/client'
import { type Binding, bindingInWords, bodyOfBinding, idOf } from '#dashboard/binding/binding'
import { BackTo } from '#dashboard/pages/functions/functions-frame'
import { Trial } from '#dashboard/pages/functions/trial'
import { ConcurrentEdit } from '#dashboard/parts/concurrent-edit'
import { ConfirmButton } from '#dashboard/parts/dialog'
import { go, Link, pathOf } from '#dashboard/parts/link'
import { CallResult, Page, Section } from '#dashboard/parts/page'
import { Status } from '#dashboard/parts/status'
import { notify } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'
import type { PageProps } from '#dashboard/routes'
import { client, mayI } from '#dashboard/session'
import '#dashboard/pages/functions/functions.css'
import { BindingEditor } from '#dashboard/binding/binding-editor'
import { useGroups } from '#dashboard/binding/known-names'
import { boundDevices } from '#dashboard/binding/target'
import { type Draft, draftOf, emptyDraft, graphOf } from '#dashboard/pages/functions/graph-draft'
import {
  type Detail,
  faultsIn,
  type GraphFaults,
  hasFaults,
  noFaults,
  placed,
} from '#dashboard/pages/functions/graph-faults'
import { GraphEditor } from '#dashboard/pages/functions/node-card'
import { Checkbox, TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { detailUnder } from '#dashboard/parts/problem-text'
import { useDraftForm } from '#dashboard/parts/use-draft-form'

type Fn = Item<'GET /functions'>

/** A function, or a new function if the id is `new`. */
export default function FunctionPage({ params: { id = '' } }: PageProps) {
  return id === 'new' ? <NewFunctionPage /> : <OneFunctionPage key={id} id={id} />
}

function NewFunctionPage() {
  return (
    <Page title="New function">
      <BackTo place="Functions" />
      <FunctionForm
        submit="Create function"
        onSubmit={async (body) => {
          const made = await client.call('POST /functions', { body })
          notify(`${made.name} is created`)
          go(pathOf('functions', idOf(made.resourceIdentifier)), { replace: true })
        }}
      />
    </Page>
  )
}

function OneFunctionPage({ id }: { readonly id: string }) {
  const parameters = { functionId: id }
  const called = useCall(() => readFunction(id), [id])
  const fn = called.value
  const remove = async () => {
    await client.call('DELETE /functions/:functionId', { parameters })
    notify('The function is deleted')
    go('/functions')
  }
  return (
    <Page
      title={fn?.name ?? 'Function'}
      beside={fn && <Status state={fn.enabled ? 'enabled' : 'disabled'} />}
      actions={
        fn && (
          <>
            {mayI('notifications', 'create') && (
              <Link to={`/notifications?function=${id}`} class="button">
                Subscribe
              </Link>
            )}
            {mayI('functions', 'delete') && (
              <ConfirmButton
                button="Delete"
                buttonKind="danger"
                title={`Delete ${fn.name}?`}
                onConfirm={remove}
                confirm="Delete function"
              >
                <p>All subscriptions to it end, and the subscribers are notified. Its templates stay.</p>
              </ConfirmButton>
            )}
          </>
        )
      }
    >
      <BackTo place="Functions" />
      <CallResult called={called}>{(found) => <EditedFunction fn={found} id={id} again={called.again} />}</CallResult>
    </Page>
  )
}

function EditedFunction({ fn, id, again }: { readonly fn: Fn; readonly id: string; readonly again: () => void }) {
  return (
    <ConcurrentEdit found={fn} what="this function">
      {({ begun, isDirty, touch, check, keep }) => (
        <>
          <FunctionForm
            start={begun}
            submit="Save"
            isReadOnly={!mayI('functions', 'update')}
            isDirty={isDirty}
            onDirty={touch}
            onSubmit={async (body) => {
              const unchanged = await check(() => readFunction(id))
              const parameters = { functionId: id }
              const saved = await client.call('PATCH /functions/:functionId', { ...unchanged, parameters, body })
              notify(`${body.name} is saved`)
              if ('name' in saved) keep(saved)
              again()
            }}
          />
          <Trial id={id} graph={begun.graph} isDirty={isDirty} />
        </>
      )}
    </ConcurrentEdit>
  )
}

function readFunction(id: string): Promise<Fn> {
  return client.call('GET /functions/:functionId', { parameters: { functionId: id } })
}

type FunctionBody = Body<'POST /functions'>

export interface FunctionFormProps {
  /** Absent for a new function. */
  readonly start?: Item<'GET /functions'> | undefined
  readonly submit: string
  readonly onSubmit: (body: FunctionBody) => Promise<void>
  /** Shows the function without inputs. */
  readonly isReadOnly?: boolean | undefined
  readonly isDirty?: boolean | undefined
  readonly onDirty?: (() => void) | undefined
}

/** A function: its graph, its name, and its devices. */
export function FunctionForm(props: FunctionFormProps) {
  const { start, submit, onSubmit, isReadOnly, isDirty, onDirty } = props
  const [name, setName] = useState(start?.name ?? '')
  const [isEnabled, setEnabled] = useState(start?.enabled ?? true)
  const [binding, setBinding] = useState<Binding>(start?.binding ?? {})
  const [draft, setDraft] = useState<Draft>(() => (start ? draftOf(start.graph) : emptyDraft))
  const [isChecked, setChecked] = useState(false)
  const { problem, touch: touchAny, send, form } = useDraftForm({ isDirty, onDirty })
  const [serverFaults, setServerFaults] = useState<GraphFaults>(noFaults)
  const groups = useGroups()
  const bound = useMemo(() => boundDevices(binding, groups ?? []), [binding, groups])
  // The server's faults are about the sent draft: the next change removes them.
  const faults = hasFaults(serverFaults) ? serverFaults : isChecked ? faultsIn(draft) : noFaults
  const touch = <Value,>(set: (value: Value) => void) => {
    return (value: Value) => {
      set(value)
      setServerFaults(noFaults)
      touchAny()
    }
  }
  const submitAll = () => {
    setChecked(true)
    setServerFaults(noFaults)
    return send(async () => {
      if (hasFaults(faultsIn(draft))) throw new Error('The graph is not complete yet: see what is marked in it')
      try {
        await onSubmit({ name, enabled: isEnabled, binding: bodyOfBinding(binding), graph: graphOf(draft) })
      } catch (thrown) {
        setServerFaults(placed(draft, detailsOf(thrown)))
        throw thrown
      }
    }, 'A function needs permission to read its triggers on all of these devices.')
  }
  const graph = (
    <Section title="Steps">
      <GraphEditor draft={draft} onDraft={touch(setDraft)} {...{ faults, isChecked, isReadOnly }} devices={bound} />
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
    <Form submit={submit} onSubmit={submitAll} label={start ? 'Function' : 'New function'} {...form}>
      {graph}
      <Section title="Name and devices">
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
            label="Enabled"
            hint="A disabled function does nothing; subscriptions stay."
            isChecked={isEnabled}
            onChange={touch(setEnabled)}
          />
          <BindingEditor
            label="Applies to"
            value={binding}
            onChange={touch(setBinding)}
            groups={groups}
            problem={detailUnder(problem, 'binding')}
          />
        </div>
      </Section>
      <p class="hint">
        The user who saves a function is its author. It works on devices whose triggers the author may read.
      </p>
    </Form>
  )
}

function detailsOf(problem: unknown): readonly Detail[] {
  return (problem as { readonly details?: readonly Detail[] } | undefined)?.details ?? []
}
