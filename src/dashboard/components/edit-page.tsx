import type { ComponentChildren } from 'preact'
import { idOf } from '#dashboard/binding/binding'
import { ConcurrentEdit, type Edit, type Precondition } from '#dashboard/components/concurrent-edit'
import { ConfirmButton } from '#dashboard/components/dialog'
import type { FormProps } from '#dashboard/components/form'
import { Link, navigateTo, pathOf } from '#dashboard/components/link'
import { CallResult, Page } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { notify } from '#dashboard/components/toasts'
import { useCall, useRefreshOnEvents } from '#dashboard/components/use-call'

/** The answer to users who may change a resource but not read it. */
interface UnreadableAnswer {
  readonly resourceIdentifier: string
}

interface Resource extends UnreadableAnswer {
  readonly name: string
  readonly updatedAt: number
}

export interface EditPageProps<Value extends Resource, Body> {
  /** In singular: `alarm`; the plural appends an s. */
  readonly kind: string
  /** The path of the page that lists the resources. */
  readonly listPath: string
  /** The page creates a resource, whose id is not known yet. */
  readonly isNew?: boolean
  /** The name in the address of the page. If the resource does not exist yet, saving creates it. */
  readonly name?: string
  /** Resolves to undefined if there is no resource with this `name`. Not called if `isNew`. */
  readonly read: () => Promise<Value | undefined>
  /** For a page that may create a resource. */
  readonly create?: (body: Body) => Promise<Value | UnreadableAnswer>
  readonly save: (body: Body, precondition: Precondition) => Promise<Value | UnreadableAnswer>
  readonly remove: () => Promise<unknown>
  readonly mayDelete: boolean
  readonly deleteEffect: string
  /** The text for a save that the server refuses with 404. */
  readonly notFoundText?: string | undefined
  /** Reads again after events whose type begins with this text. */
  readonly events?: string | undefined
  readonly beside?: ((value: Value | undefined) => ComponentChildren) | undefined
  readonly actions?: ((value: Value) => ComponentChildren) | undefined
  readonly children: (editing: Editing<Value, Body>) => ComponentChildren
}

export interface Editing<Value, Body> extends Pick<Edit<Value | undefined>, 'isDirty' | 'touch'> {
  /** Undefined if the resource does not exist yet. */
  readonly start: Value | undefined
  readonly save: (body: Body) => Promise<void>
  readonly form: Pick<FormProps, 'label' | 'submit' | 'isDisabled' | 'isUnsaved'>
}

/** The page of one resource: creates, changes and deletes it. Input survives changes by other users. */
export function EditPage<Value extends Resource, Body>(props: EditPageProps<Value, Body>) {
  const { kind, listPath, isNew, name, create, events, mayDelete, beside, actions, children } = props
  const read = async () => (isNew ? undefined : props.read())
  const call = useCall(() => read().then((value) => ({ value })), [])
  useRefreshOnEvents(call, events)
  const stored = call.value?.value
  const capitalized = kind.charAt(0).toUpperCase() + kind.slice(1)
  const title = stored?.name ?? name ?? (isNew ? `New ${kind}` : capitalized)
  const save = async (body: Body, { check, markSaved }: Edit<Value | undefined>) => {
    const precondition = await check(read)
    const request = isNew && create ? create(body) : props.save(body, precondition)
    const saved = await withExplanation(request, { 404: props.notFoundText })
    const readable = 'updatedAt' in saved ? saved : undefined
    notify(`${readable?.name ?? title} is ${stored ? 'saved' : 'created'}`)
    if (isNew) navigateTo(listPath + pathOf(idOf(saved.resourceIdentifier)), { replace: true })
    if (readable) markSaved(readable)
    call.refresh()
  }
  return (
    <Page
      title={title}
      beside={call.value && beside?.(stored)}
      actions={
        stored && (
          <>
            {actions?.(stored)}
            {mayDelete && (
              <ConfirmButton
                button="Delete"
                buttonKind="danger"
                title={`Delete ${title}?`}
                onConfirm={props.remove}
                done={`${title} is deleted`}
                onDone={() => navigateTo(listPath)}
                confirm={`Delete ${kind}`}
              >
                <p>{props.deleteEffect}</p>
              </ConfirmButton>
            )}
          </>
        )
      }
    >
      <Link to={listPath}>All {kind}s</Link>
      <CallResult call={call}>
        {({ value }) => (
          <ConcurrentEdit current={value} subject={`this ${kind}`}>
            {(edit) => {
              const { initial: start, isDirty, touch } = edit
              const form = {
                label: start ? capitalized : `New ${kind}`,
                submit: start ? 'Save' : `Create ${kind}`,
                isDisabled: start !== undefined && !isDirty,
                isUnsaved: isDirty,
              }
              return children({ start, isDirty, touch, form, save: (body) => save(body, edit) })
            }}
          </ConcurrentEdit>
        )}
      </CallResult>
    </Page>
  )
}
