import { useEffect, useState } from 'preact/hooks'
import { useHashLocation } from 'wouter-preact/use-hash-location'
import type { TenantChoice } from '#client/client'
import { Brand } from '#dashboard/icons'
import { EnrollForm } from '#dashboard/pages/sign-in/enroll-form'
import { FactorForm } from '#dashboard/pages/sign-in/factor-form'
import { Button } from '#dashboard/parts/button'
import { Checkbox, TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { go, Link } from '#dashboard/parts/link'
import { client, isEnded, isKept, present, session } from '#dashboard/session'
import { ThemeSwitch } from '#dashboard/theme'
import '#dashboard/pages/sign-in/sign-in.css'
import { decoded } from '#dashboard/address'
import { detailOf } from '#dashboard/parts/problem-text'

/** The sign-in page: password, then the tenant if several match, then a second factor if required. */
export default function SignInPage() {
  const [location] = useHashLocation()
  const isSigningUp = location.startsWith('/sign-up')
  const { state, enroll } = present.value
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

function Titled({ title, children }: { readonly title: string; readonly children: preact.ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · Device Data Backend`
  }, [title])
  return (
    <div class="sign-in-step">
      <h1 tabIndex={-1}>{title}</h1>
      {children}
    </div>
  )
}

function PasswordStep() {
  const isAwaited = isKept()
  const [name, setName] = useState((isAwaited && session.value.name) || '')
  const [password, setPassword] = useState('')
  const [keep, setKeep] = useState(true)
  const [tenants, setTenants] = useState<readonly TenantChoice[]>([])
  const signIn = async (tenantIdentifier?: string) => {
    const outcome = await client.signIn({ email: name.trim(), password, keep, tenantIdentifier })
    if (typeof outcome === 'object' && 'tenants' in outcome) setTenants(outcome.tenants)
  }
  if (tenants.length > 0) {
    return (
      <Titled title="Choose a tenant">
        <p>This name and password match several tenants.</p>
        <ul class="tenants">
          {tenants.map(({ tenantIdentifier, name: title }) => (
            <li key={tenantIdentifier}>
              <Button onPress={() => signIn(tenantIdentifier)}>
                {title} <span class="soft">{tenantIdentifier}</span>
              </Button>
            </li>
          ))}
        </ul>
        <Button kind="quiet" onPress={() => setTenants([])}>
          Back
        </Button>
      </Titled>
    )
  }
  return (
    <Titled title="Sign in">
      {isEnded.value && (
        <p class="notice" role="status">
          <span>
            Your session has expired, or was ended elsewhere. Sign in again to return to the same page
            {isAwaited ? (
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
          This page was loaded without https, so the browser provides no keys for the sign-in. Open it by https, or on
          the machine of the server.
        </p>
      )}
      <Form submit="Sign in" isDisabled={name.trim() === '' || password === ''} onSubmit={() => signIn()}>
        <TextField
          label="E-mail address or name"
          value={name}
          onInput={setName}
          autocomplete="username"
          maxLength={256}
          hasFocus={!isAwaited}
        />
        <TextField
          label="Password"
          type="password"
          value={password}
          onInput={setPassword}
          autocomplete="current-password"
          hasFocus={isAwaited}
          maxLength={256}
        />
        <Checkbox label="Stay signed in on this device" isChecked={keep} onChange={setKeep} />
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
    </Titled>
  )
}

const steps = {
  'sign in': <PasswordStep />,
  'sign up': (
    <Titled title="Choose a password">
      <SignUpForm />
    </Titled>
  ),
  factor: (
    <Titled title="Second factor">
      <FactorForm />
    </Titled>
  ),
  enroll: (
    <Titled title="Set up a second factor">
      <EnrollForm />
    </Titled>
  ),
}

/** §4.1, contract 2. */
const passwordCharactersMin = 10

/**
 * For users with an invitation code: sets a password, and signs in. An address of the form `#/sign-up/<name>/<code>`
 * fills in name and code; the part after `#` reaches no server.
 */
function SignUpForm() {
  const [location] = useHashLocation()
  const [given = '', givenCode = ''] = location.split('/').slice(2).map(decoded)
  const [name, setName] = useState(given)
  const [code, setCode] = useState(givenCode)
  const [password, setPassword] = useState('')
  const [keep, setKeep] = useState(true)
  const [problem, setProblem] = useState<unknown>()
  const signUp = async () => {
    setProblem(undefined)
    try {
      await client.call('POST /iam/signup', { body: { name: name.trim(), code: code.trim(), password } })
    } catch (refusal) {
      setProblem(refusal)
      throw refusal
    }
    go('/', { replace: true })
    await client.signIn({ email: name.trim(), password, keep })
  }
  return (
    <>
      <p>Use the code of your invitation or password reset.</p>
      <Form
        submit="Set password"
        onSubmit={signUp}
        isDisabled={!name || !code || password.length < passwordCharactersMin}
      >
        <TextField label="Name" value={name} onInput={setName} autocomplete="username" hasFocus={given === ''} />
        <TextField
          label="Code"
          value={code}
          onInput={setCode}
          problem={detailOf(problem, 'code')}
          autocomplete="one-time-code"
          isCode
        />
        <TextField
          label="Password"
          hint={`${passwordCharactersMin} characters or more`}
          type="password"
          value={password}
          onInput={setPassword}
          problem={detailOf(problem, 'password')}
          autocomplete="new-password"
          minLength={passwordCharactersMin}
          maxLength={256}
          hasFocus={given !== ''}
        />
        <Checkbox label="Stay signed in on this device" isChecked={keep} onChange={setKeep} />
      </Form>
      <p>
        <Link to="/">Sign in instead</Link>
      </p>
    </>
  )
}
