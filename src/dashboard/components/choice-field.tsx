import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Option, Select, TextField, useFault } from '#dashboard/components/fields'

export interface ChoiceFieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly problem?: string | undefined
  readonly path?: string | undefined
  readonly value: string
  readonly options: readonly Option[]
  readonly onChange: (value: string) => void
  /** The field behind "Other…": any text. */
  readonly other: {
    readonly label: string
    readonly hint?: string | undefined
    readonly placeholder?: string | undefined
    readonly problem?: string | undefined
  }
  readonly maxLength?: number | undefined
  readonly isRequired?: boolean | undefined
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
          hint={hint ?? other.hint}
          problem={problem ?? other.problem}
          value={value}
          onInput={onChange}
          placeholder={other.placeholder}
          maxLength={maxLength}
          isRequired={isRequired}
          isCode
        />
      )}
    </>
  )
}
