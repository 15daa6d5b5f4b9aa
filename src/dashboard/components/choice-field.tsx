import { useState } from 'preact/hooks'
import { Select, type SelectProps, TextField, type TextFieldProps, useFault } from '#dashboard/components/fields'

export interface ChoiceFieldProps extends SelectProps<string> {
  /** The field behind "Other…": any text. */
  readonly other: Pick<TextFieldProps, 'label' | 'placeholder' | 'problem'>
  readonly maxLength?: number | undefined
}

/** No option has this value: identifiers and names do not begin with a space. */
const otherValue = ' other'

/** A choice by name, and free text behind "Other…"; only free text if there is nothing to choose from. */
export function ChoiceField(props: ChoiceFieldProps) {
  const { label, hint, value, options, onChange, other, maxLength, isRequired } = props
  const problem = useFault(props)
  const [isOther, setOther] = useState(false)
  const hasOptions = options.length > 0
  const isTyped = isOther || !hasOptions || (value !== '' && options.every((option) => option.value !== value))
  return (
    <>
      {hasOptions && (
        <Select
          label={label}
          hint={isTyped ? undefined : hint}
          problem={isTyped ? undefined : problem}
          value={isTyped ? otherValue : value}
          options={[
            ...(value === '' && !isTyped ? [{ value: '', label: 'Choose' }] : []),
            ...options,
            { value: otherValue, label: 'Other…' },
          ]}
          onChange={(next) => {
            setOther(next === otherValue)
            onChange(next === otherValue ? '' : next)
          }}
        />
      )}
      {isTyped && (
        <TextField
          label={hasOptions ? other.label : label}
          hint={hint}
          problem={problem ?? other.problem}
          value={value}
          onChange={onChange}
          placeholder={other.placeholder}
          maxLength={maxLength}
          isRequired={isRequired}
          isCode
        />
      )}
    </>
  )
}
