import { useState } from 'preact/hooks'
import { TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { Section } from '#dashboard/parts/page'
import { detailOf } from '#dashboard/parts/problem-text'
import { say } from '#dashboard/parts/toasts'
import { client } from '#dashboard/session'

/** Contract 2. */
const passwordCharactersMin = 10

export function PasswordSection() {
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const [problem, setProblem] = useState<unknown>()
  const change = async () => {
    setProblem(undefined)
    try {
      await client.call('PUT /auth/password', { body: { current, password } })
    } catch (refusal) {
      setProblem(refusal)
      throw refusal
    }
    for (const clear of [setCurrent, setPassword, setAgain]) clear('')
    say('The password was changed; other sessions were ended')
  }
  const isOther = again !== '' && again !== password
  return (
    <Section title="Password">
      <Form
        submit="Change the password"
        isDisabled={current === '' || password.length < passwordCharactersMin || again !== password}
        onSubmit={change}
      >
        <TextField
          label="Current password"
          type="password"
          value={current}
          onInput={setCurrent}
          autocomplete="current-password"
        />
        <TextField
          label="New password"
          hint={`${passwordCharactersMin} characters or more. Your other sessions end.`}
          type="password"
          value={password}
          onInput={setPassword}
          problem={detailOf(problem, 'password')}
          autocomplete="new-password"
          minLength={passwordCharactersMin}
          maxLength={256}
        />
        <TextField
          label="New password once more"
          type="password"
          value={again}
          onInput={setAgain}
          problem={isOther ? 'The two are not the same.' : undefined}
          autocomplete="new-password"
          maxLength={256}
        />
      </Form>
    </Section>
  )
}
