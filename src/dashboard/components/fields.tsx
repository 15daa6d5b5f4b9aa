import { type ComponentChildren, createContext, Fragment } from 'preact'
import { useContext, useId, useState } from 'preact/hooks'
import { detailAt } from '#dashboard/components/problem-text'

/** Form fields: a label, an optional hint, and a fault, linked for screen readers. */

/** The failure of the surrounding form. */
export const FormProblem = createContext<unknown>(undefined)

/** The value of a field and the function to change it, to spread into the field. */
export function useField<Value>(initial: Value | (() => Value)) {
  const [value, onChange] = useState<Value>(initial)
  return { value, onChange }
}

/**
 * The values of the fields of a form. `field` returns the value and the function to spread into the field of a name.
 */
export function useFields<Values extends object>(initial: Values | (() => Values), onChange?: () => void) {
  const [values, setValues] = useState<Values>(initial)
  const set = (change: Partial<Values>) => {
    setValues((before) => ({ ...before, ...change }))
    onChange?.()
  }
  const field = <Name extends keyof Values & string>(name: Name) => ({
    value: values[name],
    onChange: (value: Values[Name]) => set({ [name]: value } as unknown as Partial<Values>),
    path: name,
  })
  return { values, set, field }
}

interface FieldTexts {
  readonly label: string
  readonly hint?: ComponentChildren
  /** The fault of the input. */
  readonly problem?: string | undefined
  /** The path of the field in the request: the server's faults at or below it are shown here. */
  readonly path?: string | undefined
}

export interface FieldProps extends FieldTexts {
  /** The id of the control that the label is for; absent: the field is a group of controls. */
  readonly id?: string | undefined
  readonly children: ComponentChildren
}

export function Field(props: FieldProps) {
  const { label, id, children } = props
  const Frame = id === undefined ? 'fieldset' : 'div'
  return (
    <Frame class="field">
      {id === undefined ? <legend>{label}</legend> : <label for={id}>{label}</label>}
      {children}
      <Texts {...props} />
    </Frame>
  )
}

function Texts(props: FieldTexts & { readonly id?: string | undefined }) {
  const { id, hint } = props
  const problem = useFault(props)
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

/** The fault of a field: of its input, or as the server reported it. */
export function useFault({ problem, path }: Pick<FieldTexts, 'problem' | 'path'>): string | undefined {
  const refusal = useContext(FormProblem)
  return problem ?? (path === undefined ? undefined : detailAt(refusal, path))
}

/** The attributes of a control that link it with its texts. */
function useControl(props: FieldTexts) {
  const id = useId()
  const isFaulty = useFault(props) !== undefined
  const described = [props.hint !== undefined && `${id}-hint`, isFaulty && `${id}-problem`].filter(Boolean)
  return {
    id,
    'aria-describedby': described.length > 0 ? described.join(' ') : undefined,
    'aria-invalid': isFaulty || undefined,
  }
}

interface InputProps<Value> extends FieldTexts {
  readonly value: Value
  readonly onChange: (value: Value) => void
  readonly isRequired?: boolean | undefined
  readonly hasFocus?: boolean | undefined
}

export interface TextFieldProps extends InputProps<string> {
  readonly type?: 'text' | 'password' | 'email' | 'search' | 'datetime-local' | undefined
  readonly autocomplete?: string | undefined
  readonly inputMode?: 'text' | 'numeric' | 'decimal' | undefined
  readonly placeholder?: string | undefined
  readonly isReadOnly?: boolean | undefined
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
  /** The number of lines of a text area; absent: an input field. */
  readonly rows?: number | undefined
  /** For monospaced text: code, identifiers; by default only for a field with suggestions. */
  readonly isCode?: boolean | undefined
  /** Likely values, which the browser offers in a list; others may be entered too. */
  readonly suggestions?: readonly { readonly value: string; readonly label?: string | undefined }[] | undefined
  /** Called for the Enter key, which then does not send the form. */
  readonly onEnter?: (() => void) | undefined
  readonly onBlur?: (() => void) | undefined
}

export function TextField(props: TextFieldProps) {
  const control = useControl(props)
  const { value, onChange, type = 'text', inputMode, rows, suggestions, onEnter, onBlur } = props
  const { autocomplete = suggestions && 'off', isCode = suggestions !== undefined } = props
  const { minLength, maxLength, placeholder, isRequired, isReadOnly, hasFocus } = props
  const list = suggestions && `${control.id}-list`
  const shared = {
    ...control,
    ...{ value, minLength, maxLength, placeholder, required: isRequired, readOnly: isReadOnly, onBlur },
    class: isCode ? 'input code' : 'input',
    ref: hasFocus ? focusOnce : null,
    spellcheck: !isCode,
    onInput: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  }
  return (
    <Field {...props} id={control.id}>
      {rows === undefined ? (
        <input
          {...shared}
          {...{ type, autocomplete, inputMode, list }}
          step={type === 'datetime-local' ? 1 : undefined}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || !onEnter) return
            event.preventDefault()
            onEnter()
          }}
        />
      ) : (
        <textarea {...shared} rows={rows} />
      )}
      {suggestions && (
        <datalist id={list}>
          {suggestions.map((suggestion) => (
            <option key={suggestion.value} value={suggestion.value}>
              {suggestion.label}
            </option>
          ))}
        </datalist>
      )}
    </Field>
  )
}

/** The server's limits for a new password. §4.1, contract 2. */
export const passwordCharactersMin = 10
const passwordCharactersMax = 256

/** The current password, or with `isNew` a new password. */
export function PasswordField({ isNew = false, ...props }: TextFieldProps & { readonly isNew?: boolean }) {
  const autocomplete = isNew ? 'new-password' : 'current-password'
  return <TextField {...props} type="password" autocomplete={autocomplete} maxLength={passwordCharactersMax} />
}

export interface NumberFieldProps extends InputProps<number | undefined> {
  readonly min?: number | undefined
  readonly max?: number | undefined
  readonly step?: number | 'any' | undefined
  readonly unit?: string | undefined
}

/** The value is undefined if the field is empty. */
export function NumberField(props: NumberFieldProps) {
  const control = useControl(props)
  const { value, onChange, min, max, step = 'any', unit, isRequired, hasFocus } = props
  // The typed text stays while it means the same number, for example `-0` or `1.0`.
  const [typed, setTyped] = useState(() => textOf(value))
  return (
    <Field {...props} id={control.id}>
      <span class="with-unit">
        <input
          {...{ ...control, min, max, step, required: isRequired }}
          class="input"
          type="number"
          value={parseNumber(typed) === value ? typed : textOf(value)}
          ref={hasFocus ? focusOnce : null}
          onInput={({ currentTarget }) => {
            setTyped(currentTarget.value)
            onChange(parseNumber(currentTarget.value))
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

function parseNumber(text: string): number | undefined {
  return text === '' ? undefined : Number(text)
}

export interface Option<Value extends string = string> {
  readonly value: Value
  readonly label: string
}

export interface SelectProps<Value extends string> extends InputProps<Value> {
  readonly options: readonly Option<Value>[]
}

export function Select<Value extends string>(props: SelectProps<Value>) {
  const control = useControl(props)
  const { value, options, onChange, hasFocus } = props
  return (
    <Field {...props} id={control.id}>
      <select
        {...control}
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
  readonly value: boolean
  readonly onChange: (isChecked: boolean) => void
  readonly isDisabled?: boolean | undefined
}

export function Checkbox(props: CheckboxProps) {
  const control = useControl(props)
  const { label, value, onChange, isDisabled } = props
  return (
    <div class="field checkbox">
      <label for={control.id}>
        <input
          {...control}
          type="checkbox"
          checked={value}
          disabled={isDisabled}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      <Texts {...props} id={control.id} />
    </div>
  )
}

export interface CheckboxesProps {
  readonly options: readonly Option[]
  readonly value: readonly string[]
  readonly onChange: (checked: string[]) => void
}

/** Any number of options; the value of a newly checked option is added at the end. */
export function Checkboxes({ options, value: checked, onChange }: CheckboxesProps) {
  return (
    <div class="checkboxes">
      {options.map(({ value, label }) => (
        <Checkbox
          key={value}
          label={label}
          value={checked.includes(value)}
          onChange={(isOn) => onChange(isOn ? [...checked, value] : checked.filter((each) => each !== value))}
        />
      ))}
    </div>
  )
}

interface RadioOption<Value> {
  readonly value: Value
  readonly label: string
  /** Shown below while the option is chosen. */
  readonly content?: ComponentChildren
}

export interface RadioProps<Value> {
  readonly options: readonly RadioOption<Value>[]
  readonly value: Value
  readonly onChange: (value: Value) => void
}

/** Options of which one is chosen. */
export function Radio<Value>({ options, value: chosen, onChange }: RadioProps<Value>) {
  const name = useId()
  return (
    <>
      {options.map(({ value, label, content }) => (
        <Fragment key={label}>
          <label class="choice">
            <input type="radio" name={name} checked={value === chosen} onChange={() => onChange(value)} />
            <span>{label}</span>
          </label>
          {value === chosen && content}
        </Fragment>
      ))}
    </>
  )
}

/** Focuses at once, or when its dialog opens. */
function focusOnce(element: HTMLElement | null): void {
  if (!element) return
  element.autofocus = true
  element.focus()
}

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
