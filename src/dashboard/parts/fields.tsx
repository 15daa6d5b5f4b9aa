import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'

/** Form fields: a label, an optional hint, and a fault, linked for screen readers. */

interface FieldTexts {
  readonly label: string
  readonly hint?: ComponentChildren
  /** The fault of the input. */
  readonly problem?: string | undefined
}

export interface FieldProps extends FieldTexts {
  /** The id of the control of the label; without it the field is a group of controls. */
  readonly id?: string | undefined
  readonly children: ComponentChildren
}

export function Field({ label, hint, problem, id, children }: FieldProps) {
  const Frame = id === undefined ? 'fieldset' : 'div'
  return (
    <Frame class="field">
      {id === undefined ? <legend>{label}</legend> : <label for={id}>{label}</label>}
      {children}
      <Texts id={id} hint={hint} problem={problem} />
    </Frame>
  )
}

function Texts({ id, hint, problem }: Pick<FieldProps, 'id' | 'hint' | 'problem'>) {
  return (
    <>
      {hint !== undefined && (
        <small class="hint" id={id && `${id}-hint`}>
          {hint}
        </small>
      )}
      {problem !== undefined && (
        <small class="problem" id={id && `${id}-problem`}>
          {problem}
        </small>
      )}
    </>
  )
}

export interface TextFieldProps extends FieldTexts {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly type?: 'text' | 'password' | 'email' | 'search' | 'url' | undefined
  readonly autocomplete?: string | undefined
  readonly inputMode?: 'text' | 'numeric' | 'decimal' | undefined
  readonly placeholder?: string | undefined
  readonly isRequired?: boolean | undefined
  readonly isReadOnly?: boolean | undefined
  readonly hasFocus?: boolean | undefined
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
  /** Lines; more than one makes a text area. */
  readonly rows?: number | undefined
  /** For monospaced text: code, identifiers. */
  readonly isCode?: boolean | undefined
}

export function TextField(props: TextFieldProps) {
  const id = useId()
  const { label, hint, problem, value, onInput, rows, isCode, isRequired, isReadOnly, hasFocus, ...rest } = props
  const shared = {
    ...attributesOf(id, props),
    class: isCode ? 'input code' : 'input',
    value,
    required: isRequired,
    readOnly: isReadOnly,
    ref: hasFocus ? focusOnce : null,
    spellcheck: !isCode,
    onInput: (event: { currentTarget: { value: string } }) => onInput(event.currentTarget.value),
  }
  const { minLength, maxLength, placeholder } = rest
  return (
    <Field label={label} hint={hint} problem={problem} id={id}>
      {rows === undefined ? (
        <input {...shared} {...rest} type={rest.type ?? 'text'} />
      ) : (
        <textarea {...shared} rows={rows} minLength={minLength} maxLength={maxLength} placeholder={placeholder} />
      )}
    </Field>
  )
}

export interface NumberFieldProps extends FieldTexts {
  readonly value: number | undefined
  /** Undefined if empty or not a number. */
  readonly onInput: (value: number | undefined) => void
  readonly min?: number | undefined
  readonly max?: number | undefined
  readonly step?: number | 'any' | undefined
  readonly unit?: string | undefined
  readonly isRequired?: boolean | undefined
  readonly hasFocus?: boolean | undefined
}

export function NumberField(props: NumberFieldProps) {
  const id = useId()
  const { label, hint, problem, value, onInput, min, max, step = 'any', unit, isRequired, hasFocus } = props
  // The text stays as typed while it becomes a number: `-0`, `1.0`.
  const [typed, setTyped] = useState(() => textOf(value))
  const text = numberIn(typed) === value ? typed : textOf(value)
  return (
    <Field label={label} hint={hint} problem={problem} id={id}>
      <span class="with-unit">
        <input
          {...attributesOf(id, props)}
          class="input"
          type="number"
          value={text}
          min={min}
          max={max}
          step={step}
          required={isRequired}
          ref={hasFocus ? focusOnce : null}
          onInput={({ currentTarget }) => {
            setTyped(currentTarget.value)
            onInput(numberIn(currentTarget.value))
          }}
        />
        {unit !== undefined && <span class="unit">{unit}</span>}
      </span>
    </Field>
  )
}

function textOf(value: number | undefined): string {
  return value === undefined ? '' : String(value)
}

function numberIn(text: string): number | undefined {
  return text === '' ? undefined : Number(text)
}

export interface SelectProps<Value extends string> extends FieldTexts {
  readonly value: Value
  readonly options: readonly { readonly value: Value; readonly label: string }[]
  readonly onChange: (value: Value) => void
  readonly hasFocus?: boolean | undefined
}

export function Select<Value extends string>(props: SelectProps<Value>) {
  const id = useId()
  const { label, hint, problem, value, options, onChange, hasFocus } = props
  return (
    <Field label={label} hint={hint} problem={problem} id={id}>
      <select
        {...attributesOf(id, props)}
        class="input"
        value={value}
        ref={hasFocus ? focusOnce : null}
        onChange={({ currentTarget }) => onChange(currentTarget.value as Value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </Field>
  )
}

export interface CheckboxProps extends FieldTexts {
  readonly isChecked: boolean
  readonly onChange: (isChecked: boolean) => void
  readonly isDisabled?: boolean | undefined
}

export function Checkbox(props: CheckboxProps) {
  const id = useId()
  const { label, hint, problem, isChecked, onChange, isDisabled } = props
  return (
    <div class="field checkbox">
      <label for={id}>
        <input
          {...attributesOf(id, props)}
          type="checkbox"
          checked={isChecked}
          disabled={isDisabled}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      <Texts id={id} hint={hint} problem={problem} />
    </div>
  )
}

function attributesOf(id: string, { hint, problem }: FieldTexts) {
  const described = [hint !== undefined && `${id}-hint`, problem !== undefined && `${id}-problem`].filter(Boolean)
  return {
    id,
    'aria-describedby': described.length > 0 ? described.join(' ') : undefined,
    'aria-invalid': problem !== undefined || undefined,
  }
}

/** Focuses at once, or when its dialog opens. */
function focusOnce(element: HTMLElement | null): void {
  if (!element) return
  element.autofocus = true
  element.focus()
}

export interface SuggestFieldProps extends FieldTexts {
  readonly value: string
  readonly onInput: (value: string) => void
  /** Likely values; others may be entered too. */
  readonly suggestions: readonly { readonly value: string; readonly label?: string | undefined }[]
  readonly placeholder?: string | undefined
  readonly maxLength?: number | undefined
  /** Replaces sending the form. */
  readonly onEnter?: (() => void) | undefined
  /** The focus leaves the field. */
  readonly onLeave?: (() => void) | undefined
}

/** A text field with the browser's suggestion list. */
export function SuggestField(props: SuggestFieldProps) {
  const id = useId()
  const { label, hint, problem, value, onInput, suggestions, placeholder, maxLength, onEnter, onLeave } = props
  return (
    <Field label={label} hint={hint} problem={problem} id={id}>
      <input
        {...attributesOf(id, props)}
        class="input code"
        list={`${id}-list`}
        value={value}
        placeholder={placeholder}
        maxLength={maxLength}
        autocomplete="off"
        spellcheck={false}
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
