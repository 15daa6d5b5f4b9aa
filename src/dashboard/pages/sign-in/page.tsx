import { useEffect, useState } from 'preact/hooks'
import type { TenantChoice } from '#client/client'
import { address, decodeUriPart } from '#dashboard/address'
import { Button } from '#dashboard/components/button'
import { Checkbox, PasswordField, passwordCharactersMin, TextField, useFields } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Link, navigateTo } from '#dashboard/components/link'
import { useObservable } from '#dashboard/components/use-observable'
import { Brand } from '#dashboard/icons'
import { EnrollForm, FactorForm } from '#dashboard/pages/sign-in/second-factor'
import { client, currentSession, hasSessionEnded, isPageKept, session } from '#dashboard/session'
import { ThemeSwitch } from '#dashboard/theme'
import '#dashboard/pages/sign-in/sign-in.css'

/** The sign-in page: password, then the tenant if several match, then a second factor if required. */
export default function SignInPage() {
  const location = useObservable(address)
  const isSigningUp = location.startsWith('/sign-up')
  const { state, enroll } = currentSession.value
  const step = state === 'second factor' ? (enroll ? 'enroll' : 'factor') : isSigningUp ? 'sign up' : 'sign in'
  return (
    <main class="sign-in">
      <header>
        <Brand />
        <ThemeSwitch />
      </header>
      <div class="section">{steps[step]}</div>
    </main>
  )
}

function Step({ title, children }: { readonly title: string; readonly children: preact.ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · Device Data Backend`
  }, [title])
  return (
    <div class="stack">
      <h1 tabIndex={-1}>{title}</h1>
      {children}
    </div>
  )
}

function PasswordStep() {
  const isReturning = isPageKept()
  const { values, field } = useFields({ email: (isReturning && session.value.name) || '', password: '', keep: true })
  const { password } = values
  const email = values.email.trim()
  const [tenants, setTenants] = useState<readonly TenantChoice[]>([])
  const signIn = async (tenantIdentifier?: string) => {
    const outcome = await client.signIn({ ...values, email, tenantIdentifier })
    if (typeof outcome === 'object' && 'tenants' in outcome) setTenants(outcome.tenants)
  }
  if (tenants.length > 0) {
    return (
      <Step title="Choose a tenant">
        <p>This name and password match several tenants.</p>
        <ul class="tenants">
          {tenants.map(({ tenantIdentifier, name }) => (
            <li key={tenantIdentifier}>
              <Button onPress={() => signIn(tenantIdentifier)}>
                {name} <span class="soft">{tenantIdentifier}</span>
              </Button>
            </li>
          ))}
        </ul>
        <Button kind="quiet" onPress={() => setTenants([])}>
          Back
        </Button>
      </Step>
    )
  }
  return (
    <Step title="Sign in">
      {hasSessionEnded.value && (
        <p class="notice" role="status">
          <span>
            Your session has expired, or was ended elsewhere. Sign in again to return to the same page
            {isReturning ? (
              <>
                , with your unsaved input. This tab keeps it only for <strong>{session.value.name}</strong>.
              </>
            ) : (
              '.'
            )}
          </span>
        </p>
      )}
      {!isSecureContext && (
        <p class="notice warning">
          This page was loaded without HTTPS, so the browser cannot create a key for the sign-in. Open it by HTTPS, or
          on the server itself by localhost.
        </p>
      )}
      <Form submit="Sign in" isDisabled={email === '' || password === ''} onSubmit={() => signIn()}>
        <TextField
          label="E-mail address or name"
          {...field('email')}
          autocomplete="username"
          maxLength={256}
          hasFocus={!isReturning}
        />
        <PasswordField label="Password" {...field('password')} hasFocus={isReturning} />
        <Checkbox label="Stay signed in on this device" {...field('keep')} />
      </Form>
      <p>
        Invited, or given a new code? <Link to="/sign-up">Choose a password</Link>
      </p>
      <details>
        <summary>First sign-in?</summary>
        <p>
          The first start of the server prints a password for <code>admin</code> on its standard error. If you lost it,
          stop the server and run <code>npm run admin -- user invite admin</code>.
        </p>
      </details>
    </Step>
  )
}

const steps = {
  'sign in': <PasswordStep />,
  'sign up': (
    <Step title="Choose a password">
      <SignUpForm />
    </Step>
  ),
  factor: (
    <Step title="Second factor">
      <FactorForm />
    </Step>
  ),
  enroll: (
    <Step title="Set up a second factor">
      <EnrollForm />
    </Step>
  ),
}

/**
 * For users with an invitation code: sets a password, and signs in. An address of the form `#/sign-up/<name>/<code>`
 * fills in name and code; the part after `#` reaches no server.
 */
function SignUpForm() {
  const location = useObservable(address)
  const [linkedName = '', linkedCode = ''] = location.split('/').slice(2).map(decodeUriPart)
  const { values, field } = useFields({ name: linkedName, code: linkedCode, password: '', keep: true })
  const { password, keep } = values
  const signUp = async () => {
    const name = values.name.trim()
    await client.call('POST /iam/signup', { body: { name, code: values.code.trim(), password } })
    navigateTo('/', { replace: true })
    await client.signIn({ email: name, password, keep })
  }
  return (
    <>
      <p>Use the code of your invitation or password reset.</p>
      <Form
        submit="Set password"
        onSubmit={signUp}
        isDisabled={!values.name || !values.code || password.length < passwordCharactersMin}
      >
        <TextField label="Name" {...field('name')} autocomplete="username" hasFocus={linkedName === ''} />
        <TextField label="Code" {...field('code')} autocomplete="one-time-code" isCode />
        <PasswordField
          label="Password"
          hint={`${passwordCharactersMin} characters or more`}
          {...field('password')}
          minLength={passwordCharactersMin}
          hasFocus={linkedName !== ''}
          isNew
        />
        <Checkbox label="Stay signed in on this device" {...field('keep')} />
      </Form>
      <p>
        <Link to="/">Sign in instead</Link>
      </p>
    </>
  )
}
