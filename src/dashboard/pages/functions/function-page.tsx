import { useState } from 'preact/hooks'
import type { Item } from '#client/client'
import { idOf } from '#dashboard/binding/binding'
import { FunctionForm } from '#dashboard/pages/functions/function-form'
import { BackTo } from '#dashboard/pages/functions/functions-frame'
import { Trial } from '#dashboard/pages/functions/trial'
import { Button } from '#dashboard/parts/button'
import { Confirm } from '#dashboard/parts/dialog'
import { Edited } from '#dashboard/parts/edited'
import { go, Link, pathOf } from '#dashboard/parts/link'
import { Answered, Page } from '#dashboard/parts/page'
import { Status } from '#dashboard/parts/status'
import { say } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'
import type { PageProps } from '#dashboard/routes'
import { client, mayI } from '#dashboard/session'
import '#dashboard/pages/functions/functions.css'

type Fn = Item<'GET /functions'>

/** One function, or with `new` in place of its id one that is being made. */
export default function FunctionPage({ params: { id = '' } }: PageProps) {
  return id === 'new' ? <NewFunctionPage /> : <OneFunctionPage key={id} id={id} />
}

function NewFunctionPage() {
  return (
    <Page title="New function">
      <BackTo place="Functions" />
      <FunctionForm
        submit="Make the function"
        onSubmit={async (body) => {
          const made = await client.call('POST /functions', { body })
          say(`${made.name} is made`)
          go(pathOf('functions', idOf(made.resourceIdentifier)), { replace: true })
        }}
      />
    </Page>
  )
}

function OneFunctionPage({ id }: { readonly id: string }) {
  const parameters = { functionId: id }
  const called = useCall(() => readFunction(id), [id])
  const [isRemoving, setRemoving] = useState(false)
  const fn = called.value
  const remove = async () => {
    await client.call('DELETE /functions/:functionId', { parameters })
    say('The function is removed')
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
                Subscribe to it
              </Link>
            )}
            {mayI('functions', 'delete') && (
              <Button kind="danger" onPress={() => setRemoving(true)}>
                Remove
              </Button>
            )}
          </>
        )
      }
    >
      <BackTo place="Functions" />
      <Answered called={called}>{(found) => <EditedFunction fn={found} id={id} again={called.again} />}</Answered>
      <Confirm
        title={`Remove ${fn?.name ?? 'the function'}?`}
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        onConfirm={remove}
        confirm="Remove the function"
      >
        <p>Everybody who subscribed to it is subscribed no more, and hears that. Its templates stay.</p>
      </Confirm>
    </Page>
  )
}

function EditedFunction({ fn, id, again }: { readonly fn: Fn; readonly id: string; readonly again: () => void }) {
  return (
    <Edited found={fn} what="this function">
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
              say(`${body.name} is saved`)
              if ('name' in saved) keep(saved)
              again()
            }}
          />
          <Trial id={id} graph={begun.graph} isDirty={isDirty} />
        </>
      )}
    </Edited>
  )
}

function readFunction(id: string): Promise<Fn> {
  return client.call('GET /functions/:functionId', { parameters: { functionId: id } })
}
