import { useMemo, useRef, useState } from 'preact/hooks'
import { devicesIn, fittingOf } from '#dashboard/binding/device-list'
import { nameOfDevice, useKnownDevices } from '#dashboard/binding/known-names'
import { Warning } from '#dashboard/binding/service-field'
import { Button } from '#dashboard/parts/button'
import { SuggestField } from '#dashboard/parts/fields'
import { useIsComplete } from '#dashboard/parts/use-observable'
import { state } from '#dashboard/state'
import '#dashboard/binding/binding.css'

export interface DevicePickerProps {
  readonly label: string
  readonly value: readonly string[]
  readonly onChange: (devices: readonly string[]) => void
  readonly problem?: string | undefined
}

/** This number of devices is shown; the rest is counted until the user asks for it. */
const shownMax = 60
/** This number of unknown devices is named. */
const namedMax = 5

/** Devices by name: typed, pasted as a list, or picked. They need not exist yet. */
export function DevicePicker({ label, value, onChange, problem }: DevicePickerProps) {
  const known = useKnownDevices()
  const [text, setText] = useState('')
  const [isWhole, setWhole] = useState(false)
  const frame = useRef<HTMLDivElement>(null)
  const typed = text.trim().toUpperCase()
  const chosen = useMemo(() => new Set(value), [value])
  const fitting = useMemo(() => fittingOf(known, typed, chosen, nameOfDevice), [known, typed, chosen])
  const shown = isWhole ? value : value.slice(0, shownMax)
  const { devices } = state()
  const isComplete = useIsComplete(devices)
  const unknown = isComplete ? value.filter((device) => !devices.has(device)) : []
  const add = () => {
    onChange([...new Set([...chosen, ...devicesIn(text)])])
    setText('')
  }
  return (
    <div class="device-picker" ref={frame}>
      <div class="field-with-button">
        <SuggestField
          label={label}
          hint="One or more, separated by commas or spaces. They need not exist yet."
          value={text}
          onInput={setText}
          onEnter={() => typed !== '' && add()}
          // Typed text counts even if the user does not press Add.
          onLeave={() => typed !== '' && add()}
          suggestions={fitting.map((each) => ({ value: each, label: nameOfDevice(each) }))}
          placeholder="PUMP-7, SENSOR-1"
          problem={problem}
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
            : `Not known yet: ${unknown.slice(0, namedMax).join(', ')}${unknown.length > namedMax ? ' and others' : ''}.`
        }
      />
      {value.length > shown.length && (
        <div>
          <Button kind="quiet" onPress={() => setWhole(true)}>
            Show all {value.length}
          </Button>
        </div>
      )}
    </div>
  )
}

export interface DeviceFieldProps {
  readonly hint?: string | undefined
  readonly problem?: string | undefined
  readonly value: string
  readonly onInput: (device: string) => void
}

/** One device, which need not exist yet. */
export function DeviceField(props: DeviceFieldProps) {
  const known = useKnownDevices()
  const fitting = fittingOf(known, props.value.trim().toUpperCase(), nothingChosen, nameOfDevice)
  return (
    <SuggestField
      label="Device"
      {...props}
      suggestions={fitting.map((value) => ({ value, label: nameOfDevice(value) }))}
      placeholder="PUMP-7"
      maxLength={64}
    />
  )
}

const nothingChosen: ReadonlySet<string> = new Set()

/** After a removal by keyboard, moves the focus to the next device, or to the field. */
function focusBeside(frame: HTMLElement | null, place: number): void {
  const buttons = frame?.querySelectorAll<HTMLElement>('.chip button')
  const beside = buttons?.[place + 1] ?? buttons?.[place - 1] ?? frame?.querySelector('input')
  beside?.focus()
}
