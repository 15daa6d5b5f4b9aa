import { useRef, useState } from 'preact/hooks'
import type { Invitation } from '#dashboard/pages/administration/invitation'
import { mayHere, tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { beyond, EditForm, lastAdministrator } from '#dashboard/pages/administration/user-forms'
import { Button } from '#dashboard/parts/button'
import { Confirm, Dialog } from '#dashboard/parts/dialog'
import { explained } from '#dashboard/parts/explained'
import { Checkbox } from '#dashboard/parts/fields'
import { Link, pathOf } from '#dashboard/parts/link'
import { say } from '#dashboard/parts/toasts'
import { client, session } from '#dashboard/session'
import type { UserEntry } from '#model/user'

interface UserActionsProps {
  readonly user: UserEntry
  readonly onChanged: () => void
  readonly onInvited: (invitation: Invitation) => void
}

/** What is asked about first; one at a time. */
type Asked = 'edit' | 'code' | 'disable' | 'delete' | undefined

/** What can be done about one user, by who may. */
export function UserActions(props: UserActionsProps) {
  const [asked, ask] = useState<Asked>()
  // Hundreds of rows, each with four dialogs that nobody opens, would be thousands of elements.
  const wasAsked = useRef(false)
  if (asked !== undefined) wasAsked.current = true
  const { user, onChanged } = props
  const { name, state } = user
  const mayUpdate = mayHere('users', 'update')
  return (
    <div class="actions">
      {mayUpdate && (
        <>
          <Button kind="quiet" label={`Change ${name}`} onPress={() => ask('edit')}>
            Change
          </Button>
          <Button kind="quiet" label={`${codeVerb(user)} for ${name}`} onPress={() => ask('code')}>
            {codeVerb(user)}
          </Button>
        </>
      )}
      {mayUpdate && state === 'disabled' && (
        <Button kind="quiet" label={`Enable ${name}`} onPress={() => enable(user, onChanged)}>
          Enable
        </Button>
      )}
      {mayUpdate && state !== 'disabled' && (
        <Button kind="quiet" label={`Disable ${name}`} onPress={() => ask('disable')}>
          Disable
        </Button>
      )}
      {mayHere('users', 'delete') && (
        <Button kind="quiet" label={`Delete ${name}`} onPress={() => ask('delete')}>
          Delete
        </Button>
      )}
      {wasAsked.current && <UserDialogs {...props} asked={asked} onClose={() => ask(undefined)} />}
    </div>
  )
}

function UserDialogs({
  user,
  onChanged,
  onInvited,
  asked,
  onClose,
}: UserActionsProps & { readonly asked: Asked; readonly onClose: () => void }) {
  const { name } = user
  const signedOut = name === session.value.name && <strong> That is you: you are signed out.</strong>
  return (
    <>
      <Dialog title={`Change ${name}`} isOpen={asked === 'edit'} onClose={onClose}>
        <EditForm
          user={user}
          onCancel={onClose}
          onDone={() => {
            onClose()
            onChanged()
          }}
        />
      </Dialog>
      <CodeConfirm user={user} isOpen={asked === 'code'} onClose={onClose} onInvited={onInvited} />
      <Confirm
        title={`Disable ${name}?`}
        isOpen={asked === 'disable'}
        onClose={onClose}
        confirm={`Disable ${name}`}
        onConfirm={() => disable(user, onChanged)}
      >
        <p>
          Every session of {name} ends at once, with its sockets, and nobody signs in by this name until it is enabled
          again.{signedOut}
        </p>
      </Confirm>
      <Confirm
        title={`Delete ${name}?`}
        isOpen={asked === 'delete'}
        onClose={onClose}
        confirm={`Delete ${name}`}
        typed={name}
        onConfirm={() => remove(user, onChanged)}
      >
        <p>
          Every session of {name} ends at once, and {name}’s subscriptions to notifications go. Alarms, functions and
          rollouts that {name} changed last stay, and reach nothing until somebody else saves them. It cannot be taken
          back; to keep {name} out for a while, disable.{signedOut}
        </p>
      </Confirm>
    </>
  )
}

function CodeConfirm({
  user,
  isOpen,
  onClose,
  onInvited,
}: {
  readonly user: UserEntry
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onInvited: (invitation: Invitation) => void
}) {
  const [isReset, setReset] = useState(false)
  const { name, state, twoFactor } = user
  const renew = async () => {
    const body = isReset ? { resetTwoFactor: true } : {}
    const call = client.call('POST /iam/users/:name/code', { parameters: { name }, query: tenantQuery(), body })
    onInvited(await explained(call, { 403: beyond }))
  }
  return (
    <Confirm
      title={`${codeVerb(user)} for ${name}?`}
      isOpen={isOpen}
      onClose={onClose}
      confirm="Make the code"
      kind="primary"
      onConfirm={renew}
    >
      <p>
        A fresh code for {name}, good for 7 days; a code of before is good no more.
        {state !== 'invited' && ' The password of now works until the code is used; then all sessions end.'}
      </p>
      {twoFactor.length > 0 && (
        <Checkbox
          label="Using it also takes away the second factors"
          hint="For somebody who lost them."
          isChecked={isReset}
          onChange={setReset}
        />
      )}
      <p>
        To end {name}’s sessions now: <Link to={pathOf('administration', 'sessions')}>sessions</Link>.
      </p>
    </Confirm>
  )
}

function codeVerb({ state }: UserEntry): string {
  return state === 'invited' ? 'New code' : 'Reset password'
}

async function enable({ name }: UserEntry, onChanged: () => void): Promise<void> {
  const body = { state: 'active' as const }
  await explained(client.call('PATCH /iam/users/:name', { parameters: { name }, query: tenantQuery(), body }), {
    403: beyond,
  })
  say(`${name} is enabled`)
  onChanged()
}

async function disable({ name }: UserEntry, onChanged: () => void): Promise<void> {
  const body = { state: 'disabled' as const }
  await explained(client.call('PATCH /iam/users/:name', { parameters: { name }, query: tenantQuery(), body }), {
    403: beyond,
    409: lastAdministrator,
  })
  say(`${name} is disabled; every session has ended`)
  onChanged()
}

async function remove({ name }: UserEntry, onChanged: () => void): Promise<void> {
  await explained(client.call('DELETE /iam/users/:name', { parameters: { name }, query: tenantQuery() }), {
    403: beyond,
    409: lastAdministrator,
  })
  say(`${name} is deleted; every session has ended`)
  onChanged()
}
