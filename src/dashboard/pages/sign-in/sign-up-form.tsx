import { useState } from 'preact/hooks'
import { useHashLocation } from 'wouter-preact/use-hash-location'
import { decoded } from '#dashboard/address'
import { Checkbox, TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { go, Link } from '#dashboard/parts/link'
import { detailOf } from '#dashboard/parts/problem-text'
import { client } from '#dashboard/session'

/** §4.1, contract 2. */
const passwordCharactersMin = 10

/**
 * For who was given a code: chooses a password, which also signs in. An address of the form `#/sign-up/<name>/<code>`
 * fills in the rest; what stands behind the `#` reaches no server.
 */
export function SignUpForm() {
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
      <p>With the code you were given, for a new account as well as for a forgotten password.</p>
      <Form
        submit="Choose this password"
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
