import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Field } from '#dashboard/parts/fields'

export interface SuggestFieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly problem?: string | undefined
  readonly value: string
  readonly onInput: (value: string) => void
  /** What is likely to be meant; anything else may be written too. */
  readonly suggestions: readonly { readonly value: string; readonly label?: string | undefined }[]
  readonly placeholder?: string | undefined
  readonly maxLength?: number | undefined
  /** In place of sending the form around it. */
  readonly onEnter?: (() => void) | undefined
  /** Somebody goes on to something else. */
  readonly onLeave?: (() => void) | undefined
}

/** A line of text with suggestions, by the browser's own list. */
export function SuggestField(props: SuggestFieldProps) {
  const id = useId()
  const { label, hint, problem, value, onInput, suggestions, placeholder, maxLength, onEnter, onLeave } = props
  const described = [hint !== undefined && `${id}-hint`, problem !== undefined && `${id}-problem`].filter(Boolean)
  return (
    <Field label={label} hint={hint} problem={problem} id={id}>
      <input
        id={id}
        class="input code"
        list={`${id}-list`}
        value={value}
        placeholder={placeholder}
        maxLength={maxLength}
        autocomplete="off"
        spellcheck={false}
        aria-describedby={described.length > 0 ? described.join(' ') : undefined}
        aria-invalid={problem !== undefined || undefined}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
        onBlur={() => onLeave?.()}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !onEnter) return
          event.preventDefault()
          onEnter()
        }}
      />
      <datalist id={`${id}-list`}>
        {suggestions.map((suggestion) => (
          <option key={suggestion.value} value={suggestion.value}>
            {suggestion.label}
          </option>
        ))}
      </datalist>
    </Field>
  )
}
