import { useKnownServices } from '#dashboard/binding/known-names'
import { ChoiceField } from '#dashboard/parts/choice-field'

export interface ServiceFieldProps {
  readonly hint?: string | undefined
  /** The identifier. */
  readonly value: string
  readonly onChange: (service: string) => void
  readonly warning: string | undefined
  readonly problem?: string | undefined
}

/** A service by the name of its schema, with a warning if no device has it. */
export function ServiceField({ hint, value, onChange, warning, problem }: ServiceFieldProps) {
  return (
    <>
      <ChoiceField
        label="Service"
        hint={hint}
        problem={problem}
        value={value}
        options={useKnownServices()}
        onChange={onChange}
        other={{ label: 'Identifier of the service', placeholder: 'climate' }}
        maxLength={64}
      />
      <Warning text={warning} />
    </>
  )
}

/** Does not prevent saving. */
export function Warning({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return null
  return (
    <p class="notice warning" role="status">
      {text}
    </p>
  )
}
