import { useKnownServices } from '#dashboard/binding/known-names'
import { ChoiceField, type ChoiceFieldProps } from '#dashboard/components/choice-field'

export interface ServiceFieldProps extends Pick<ChoiceFieldProps, 'hint' | 'path' | 'value' | 'onChange'> {
  readonly warning: string | undefined
}

/** A field to choose a service by the name of its schema, and below it a warning of the caller. */
export function ServiceField({ warning, ...field }: ServiceFieldProps) {
  return (
    <>
      <ChoiceField
        {...field}
        label="Service"
        options={useKnownServices()}
        other={{ label: 'Service identifier', placeholder: 'climate' }}
        maxLength={64}
      />
      <Warning text={warning} />
    </>
  )
}

/** A warning, which does not prevent saving. */
export function Warning({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return null
  return (
    <p class="notice warning" role="status">
      {text}
    </p>
  )
}
