import { type Binding, coversAllDevices, type GroupOption, idOf, nameOfGroup } from '#dashboard/binding/binding'
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
  const { devices = [], groups: chosen = [] } = value
  const pathOf = (field: string) => (path === undefined ? field : `${path}.${field}`)
  const some = (
    <div class="binding-some">
      <DevicePicker
        label="Devices"
        value={devices}
        onChange={(next) => onChange({ ...value, devices: next })}
        path={pathOf('devices')}
      />
      <GroupCheckboxes
        groups={groups}
        value={chosen}
        onChange={(next) => onChange({ ...value, groups: next })}
        path={pathOf('groups')}
      />
      {devices.length + chosen.length === 0 && <p class="hint">Choose at least one device or group.</p>}
    </div>
  )
  return (
    <Field label={label}>
      <Radio
        value={coversAllDevices(value)}
        onChange={(isAll) => onChange(isAll ? {} : { devices: [], groups: [] })}
        options={[
          { value: true, label: 'All devices, including future ones' },
          { value: false, label: 'Some devices and groups', content: some },
        ]}
      />
    </Field>
  )
}

interface GroupCheckboxesProps extends Pick<BindingEditorProps, 'groups' | 'path'> {
  /** The ids of the chosen groups. */
  readonly value: readonly string[]
  readonly onChange: (chosen: string[]) => void
}

export function GroupCheckboxes({ groups = [], value, onChange, path }: GroupCheckboxesProps) {
  const options = groups.map(({ resourceIdentifier }) => idOf(resourceIdentifier))
  // Groups that the user may not see stay until the user removes them.
  const ids = [...options, ...value.filter((id) => !options.includes(id))]
  if (ids.length === 0) return null
  return (
    <Field label="Groups" path={path}>
      <Checkboxes
        options={ids.map((id) => ({ value: id, label: nameOfGroup(id, groups) }))}
        value={value}
        onChange={onChange}
      />
    </Field>
  )
}
