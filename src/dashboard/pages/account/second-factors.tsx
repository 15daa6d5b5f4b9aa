import { useState } from 'preact/hooks'
import { keepingCodes, registerKey } from '#dashboard/pages/sign-in/enroll-form'
import { OneTimeCode } from '#dashboard/pages/sign-in/one-time-code'
import { TotpSecret } from '#dashboard/pages/sign-in/totp-secret'
import { Button } from '#dashboard/parts/button'
import { Dialog } from '#dashboard/parts/dialog'
import { TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { CallResult, Section } from '#dashboard/parts/page'
import { Time } from '#dashboard/parts/time'
import { notify } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'
import { client } from '#dashboard/session'

type Asked = { readonly what: 'totp' | 'no totp' | 'key' } | { readonly what: 'no key'; readonly id: string }

/** The user's second factors. Each change is confirmed with the password, and ends the other sessions. */
export function SecondFactors() {
  const [asked, setAsked] = useState<Asked | undefined>()
  const keys = useCall(() => client.call('GET /auth/2fa/webauthn/credentials'), [])
  const own = useCall(() => client.call('GET /iam/me'), [])
  const hasTotp = own.value?.twoFactor?.includes('totp') ?? false
  const close = () => setAsked(undefined)
  const done = (text: string) => {
    close()
    notify(text)
    keys.again()
    own.again()
  }
  return (
    <Section title="Second factors">
      <ul class="factors">
        <li>
          <span>
            App for one-time codes
            <br />
            <small class="hint">
              {hasTotp ? 'Active. A new setup replaces the app and the recovery codes.' : own.value && 'Not active.'}
            </small>
          </span>
          <Button onPress={() => setAsked({ what: 'totp' })}>Set up…</Button>
          {hasTotp && (
            <Button kind="danger" onPress={() => setAsked({ what: 'no totp' })}>
              Remove…
            </Button>
          )}
        </li>
        <CallResult called={keys}>
          {(list) =>
            list.map(({ id, name, lastUsedAt }) => (
              <li key={id}>
                <span>
                  {name}
                  <br />
                  <small class="hint">
                    Last used <Time at={lastUsedAt} />
                  </small>
                </span>
                <Button kind="danger" label={`Remove ${name}`} onPress={() => setAsked({ what: 'no key', id })}>
                  Remove…
                </Button>
              </li>
            ))
          }
        </CallResult>
        <li>
          <span>Key, phone or this device (WebAuthn)</span>
          <Button onPress={() => setAsked({ what: 'key' })}>Add…</Button>
        </li>
      </ul>
      <Dialog title="One-time codes" isOpen={asked?.what === 'totp'} onClose={close}>
        <EnrollTotp onDone={() => done('One-time codes are active')} />
      </Dialog>
      <Dialog title="Remove one-time codes?" isOpen={asked?.what === 'no totp'} onClose={close}>
        <ConfirmFactor
          submit="Remove"
          kind="danger"
          onCancel={close}
          onConfirm={async (confirmation) => {
            await client.call('DELETE /auth/2fa/totp', { body: confirmation })
            done('One-time codes were removed')
          }}
        />
      </Dialog>
      <Dialog title="Add a key" isOpen={asked?.what === 'key'} onClose={close}>
        <ConfirmFactor
          submit="Continue"
          onCancel={close}
          hasName
          onConfirm={async ({ name, ...confirmation }) => {
            await registerKey({ ...confirmation, name: name || 'Key' })
            done('The key was added')
          }}
        />
      </Dialog>
      <Dialog title="Remove this key?" isOpen={asked?.what === 'no key'} onClose={close}>
        <ConfirmFactor
          submit="Remove"
          kind="danger"
          onCancel={close}
          onConfirm={async (confirmation) => {
            if (asked?.what !== 'no key') return
            await client.call('DELETE /auth/2fa/webauthn/credentials/:id', {
              parameters: { id: asked.id },
              body: confirmation,
            })
            done('The key was removed')
          }}
        />
      </Dialog>
    </Section>
  )
}

interface Enrolled {
  readonly secret: string
  readonly otpauthUri: string
}

/** Asks for the password, shows the secret for the app, and asks for the first code; then shows recovery codes. */
function EnrollTotp({ onDone }: { readonly onDone: () => void }) {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [enrolled, setEnrolled] = useState<Enrolled | undefined>()
  if (!enrolled) {
    return (
      <Form
        submit="Continue"
        isDisabled={password === ''}
        onSubmit={async () => setEnrolled(await client.enrollTotp({ password }))}
      >
        <TextField
          label="Your password"
          type="password"
          value={password}
          onInput={setPassword}
          autocomplete="current-password"
          hasFocus
        />
      </Form>
    )
  }
  return (
    <Form
      submit="Activate"
      isDisabled={code.length < 6}
      onSubmit={async () => {
        await keepingCodes(client.activateTotp(code, { password }))
        onDone()
      }}
    >
      <TotpSecret {...enrolled} />
      <OneTimeCode value={code} onInput={setCode} label="The code in the app" />
    </Form>
  )
}

interface ConfirmFactorProps {
  readonly submit: string
  readonly kind?: 'primary' | 'danger' | undefined
  readonly onConfirm: (confirmation: { readonly password: string; readonly name?: string }) => Promise<void>
  readonly onCancel: () => void
  /** Also asks for a name of the new factor. */
  readonly hasName?: boolean | undefined
}

/** Confirms a change of second factors with the password. Contract 2. */
function ConfirmFactor({ submit, kind, onConfirm, onCancel, hasName }: ConfirmFactorProps) {
  const [password, setPassword] = useState('')
  const [name, setName] = useState('')
  return (
    <Form
      submit={submit}
      kind={kind}
      onCancel={onCancel}
      isDisabled={password === ''}
      onSubmit={() => onConfirm(hasName ? { password, name: name.trim() } : { password })}
    >
      {hasName && (
        <TextField
          label="Name"
          hint="For example: key ring, phone"
          value={name}
          onInput={setName}
          maxLength={64}
          autocomplete="off"
        />
      )}
      <TextField
        label="Your password"
        hint="Your other sessions end."
        type="password"
        value={password}
        onInput={setPassword}
        autocomplete="current-password"
        hasFocus
      />
    </Form>
  )
}
