import { useState } from 'preact/hooks'
import { TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'

export interface ConfirmFactorProps {
  readonly submit: string
  readonly kind?: 'primary' | 'danger' | undefined
  readonly onConfirm: (confirmation: { readonly password: string; readonly name?: string }) => Promise<void>
  readonly onCancel: () => void
  /** Also asks what the new one is called. */
  readonly hasName?: boolean | undefined
}

/** A change of second factors, confirmed by the password. Contract 2. */
export function ConfirmFactor({ submit, kind, onConfirm, onCancel, hasName }: ConfirmFactorProps) {
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
          label="What it is called"
          hint="Such as: key ring, phone"
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
