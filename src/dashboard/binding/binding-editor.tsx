import { useId } from 'preact/hooks'
import { type Binding, type GroupOption, idOf, isAboutAll, nameOfGroup } from '#dashboard/binding/binding'
import { DevicePicker } from '#dashboard/binding/device-picker'
import { Checkbox, Field } from '#dashboard/parts/fields'

export interface BindingEditorProps {
  readonly label: string
  readonly value: Binding
  readonly onChange: (binding: Binding) => void
  /** The groups to choose from; undefined if the user may not read groups. */
  readonly groups: readonly GroupOption[] | undefined
  readonly problem?: string | undefined
}

/** All devices, or devices and groups by name. Contract 5.3, 5.4. */
export function BindingEditor({ label, value, onChange, groups, problem }: BindingEditorProps) {
  const name = useId()
  const isAll = isAboutAll(value)
  const chosen = value.groups ?? []
  const options = groups?.map(({ resourceIdentifier }) => idOf(resourceIdentifier)) ?? []
  // Groups that the user may not see stay until the user removes them.
  const ids = [...options, ...chosen.filter((id) => !options.includes(id))]
  const isNone = !isAll && (value.devices ?? []).length === 0 && chosen.length === 0
  return (
    <Field label={label} problem={problem}>
      <label class="choice">
        <input type="radio" name={name} checked={isAll} onChange={() => onChange({})} />
        <span>All devices, including future ones</span>
      </label>
      <label class="choice">
        <input type="radio" name={name} checked={!isAll} onChange={() => onChange({ devices: [], groups: [] })} />
        <span>Some devices and groups</span>
      </label>
      {!isAll && (
        <div class="binding-some">
          <DevicePicker
            label="Devices"
            value={value.devices ?? []}
            onChange={(next) => onChange({ ...value, devices: next })}
          />
          {ids.length > 0 && (
            <Field label="Groups">
              {ids.map((id) => (
                <Checkbox
                  key={id}
                  label={nameOfGroup(id, groups ?? [])}
                  isChecked={chosen.includes(id)}
                  onChange={(isChecked) =>
                    onChange({ ...value, groups: isChecked ? [...chosen, id] : chosen.filter((each) => each !== id) })
                  }
                />
              ))}
            </Field>
          )}
          {isNone && <p class="hint">Without a choice it applies to no device.</p>}
        </div>
      )}
    </Field>
  )
}
