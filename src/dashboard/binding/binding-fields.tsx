import '#dashboard/binding/binding.css'
import { useMemo, useRef, useState } from 'preact/hooks'
import {
  type Binding,
  coversAllDevices,
  devicesIn,
  type GroupOption,
  idOf,
  nameOfGroup,
} from '#dashboard/binding/binding'
import {
  devicesMax,
  nameOfDevice,
  useDevices,
  useKnownServices,
  useSuggestedDevices,
} from '#dashboard/binding/known-names'
import { Button } from '#dashboard/components/button'
import {
  Checkboxes,
  ChoiceField,
  type ChoiceFieldProps,
  Field,
  Radio,
  TextField,
  type TextFieldProps,
  useFault,
} from '#dashboard/components/fields'
import { liveState } from '#dashboard/session'

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

export interface DevicePickerProps {
  readonly label: string
  readonly value: readonly string[]
  readonly onChange: (devices: readonly string[]) => void
  /** The path of the list in the request. */
  readonly path?: string | undefined
}

/** Devices that are shown before the user presses "Show all". */
const shownMax = 60
const unknownNamedMax = 5

/** Devices by name: typed, pasted as a list, or picked. They need not exist yet. */
export function DevicePicker({ label, value, onChange, path }: DevicePickerProps) {
  const [text, setText] = useState('')
  const suggested = useSuggestedDevices(text.trim())
  const [isExpanded, setExpanded] = useState(false)
  const frame = useRef<HTMLDivElement>(null)
  const typed = text.trim().toUpperCase()
  const chosen = useMemo(() => new Set(value), [value])
  const shown = isExpanded ? value : value.slice(0, shownMax)
  // Grants also accept prefixes of identifiers, followed by a star.
  const named = value.filter((device) => !device.endsWith('*')).slice(0, devicesMax)
  const isRead = useDevices(named)
  const unknown = isRead ? named.filter((device) => !liveState().devices.has(device)) : []
  // The text contains the device instead of its index.
  const fault = useFault({ path })?.replace(/ \(at (\d+)\)/, (_, place) => ` (${value[Number(place)]})`)
  const add = () => {
    onChange([...new Set([...chosen, ...devicesIn(text)])])
    setText('')
  }
  return (
    <div class="device-picker" ref={frame}>
      <div class="field-row">
        <TextField
          label={label}
          hint="One or more, separated by commas or spaces. They need not exist yet."
          value={text}
          onChange={setText}
          onEnter={() => typed !== '' && add()}
          // Typed text counts even if the user does not press Add.
          onBlur={() => typed !== '' && add()}
          suggestions={suggested.filter((each) => !chosen.has(each.value))}
          placeholder="PUMP-7, SENSOR-1"
          problem={fault}
        />
        <Button onPress={add} isDisabled={typed === ''}>
          Add
        </Button>
      </div>
      {value.length > 0 && (
        <ul class="chips" aria-label={`${label}: ${value.length}`}>
          {shown.map((device, place) => (
            <li key={device} class="chip">
              <code>{device}</code> {nameOfDevice(device)}
              <Button
                kind="quiet"
                label={`Remove ${device}`}
                onPress={() => {
                  focusBeside(frame.current, place)
                  onChange(value.filter((each) => each !== device))
                }}
              >
                ×
              </Button>
            </li>
          ))}
        </ul>
      )}
      <Warning
        text={
          unknown.length === 0
            ? undefined
            : `Not known yet: ${unknown.slice(0, unknownNamedMax).join(', ')}${unknown.length > unknownNamedMax ? ' and others' : ''}.`
        }
      />
      {value.length > shown.length && (
        <div>
          <Button kind="quiet" onPress={() => setExpanded(true)}>
            Show all {value.length}
          </Button>
        </div>
      )}
    </div>
  )
}

/** One device, which need not exist yet. */
export function DeviceField(props: Pick<TextFieldProps, 'hint' | 'problem' | 'path' | 'value' | 'onChange'>) {
  return (
    <TextField
      label="Device"
      {...props}
      suggestions={useSuggestedDevices(props.value.trim())}
      placeholder="PUMP-7"
      maxLength={64}
    />
  )
}

/** Called before a device is removed: moves the focus to the next device, the previous one, or the field. */
function focusBeside(frame: HTMLElement | null, place: number): void {
  const buttons = frame?.querySelectorAll<HTMLElement>('.chip button')
  const beside = buttons?.[place + 1] ?? buttons?.[place - 1] ?? frame?.querySelector('input')
  beside?.focus()
}

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
