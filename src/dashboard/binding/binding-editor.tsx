import { useId } from 'preact/hooks'
import { type Binding, type GroupOption, idOf, isAboutAll, nameOfGroup } from '#dashboard/binding/binding'
import { DevicePicker } from '#dashboard/binding/device-picker'
import { Checkboxes, Field, Radio } from '#dashboard/components/fields'

export interface BindingEditorProps {
  readonly label: string
  readonly value: Binding
  readonly onChange: (binding: Binding) => void
  /** The groups to choose from; undefined if the user may not read groups. */
  readonly groups: readonly GroupOption[] | undefined
  /** The path of the binding in the request. */
  readonly path?: string | undefined
}

/** All devices, or devices and groups by name. Contract 5.3, 5.4. */
export function BindingEditor({ label, value, onChange, groups, path }: BindingEditorProps) {
  const name = useId()
  const isAll = isAboutAll(value)
  const chosen = value.groups ?? []
  const pathOf = (field: string) => (path === undefined ? field : `${path}.${field}`)
  const isNone = !isAll && (value.devices ?? []).length === 0 && chosen.length === 0
  return (
    <Field label={label}>
      <Radio name={name} label="All devices, including future ones" isChecked={isAll} onChange={() => onChange({})} />
      <Radio
        name={name}
        label="Some devices and groups"
        isChecked={!isAll}
        onChange={() => onChange({ devices: [], groups: [] })}
      />
      {!isAll && (
        <div class="binding-some">
          <DevicePicker
            label="Devices"
            value={value.devices ?? []}
            onChange={(devices) => onChange({ ...value, devices })}
            path={pathOf('devices')}
          />
          <GroupCheckboxes
            groups={groups}
            chosen={chosen}
            onChange={(next) => onChange({ ...value, groups: next })}
            path={pathOf('groups')}
          />
          {isNone && <p class="hint">Choose at least one device or group; until then it applies to none.</p>}
        </div>
      )}
    </Field>
  )
}

interface GroupCheckboxesProps extends Pick<BindingEditorProps, 'groups' | 'path'> {
  /** Ids. */
  readonly chosen: readonly string[]
  readonly onChange: (chosen: string[]) => void
}

export function GroupCheckboxes({ groups = [], chosen, onChange, path }: GroupCheckboxesProps) {
  const options = groups.map(({ resourceIdentifier }) => idOf(resourceIdentifier))
  // Groups that the user may not see stay until the user removes them.
  const ids = [...options, ...chosen.filter((id) => !options.includes(id))]
  if (ids.length === 0) return null
  return (
    <Field label="Groups" path={path}>
      <Checkboxes
        options={ids.map((id) => ({ value: id, label: nameOfGroup(id, groups) }))}
        checked={chosen}
        onChange={onChange}
      />
    </Field>
  )
}
