import type { ComponentType } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { idOf } from '#dashboard/binding/binding'
import { Warning } from '#dashboard/binding/binding-fields'
import { useGroups, useKnownServices, useSchemas, useTarget } from '#dashboard/binding/known-names'
import { propertyOptions } from '#dashboard/binding/target'
import { Button } from '#dashboard/components/button'
import { ConfirmForm, DialogButton } from '#dashboard/components/dialog'
import { Checkbox, Select, TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { problemText } from '#dashboard/components/problem-text'
import { CloseDialogContext, useLockedDialog } from '#dashboard/components/unsaved-input'
import { VirtualList } from '#dashboard/components/virtual-list'
import { ValueField } from '#dashboard/pages/device/value-field'
import { isWritable, parseValue, textOf } from '#dashboard/pages/device/written-value'
import { isSuccess, outcomeText } from '#dashboard/pages/firmware/update-status'
import {
  changeGroup,
  changeTag,
  createGroup,
  type Plan,
  writeValue,
} from '#dashboard/pages/fleet/bulk-changes/bulk-change'
import { forEachDevice, type Outcome } from '#dashboard/pages/fleet/bulk-changes/each-device'
import type { Selection } from '#dashboard/pages/fleet/use-selection'
import { client, mayUser } from '#dashboard/session'
import { delayed } from '#dashboard/timers'
import { countText, hexOf, nameOf, schemaOfProperty, valueText, withUnit } from '#dashboard/values/format-value'

type SelectionBarProps = Pick<Selection, 'selected' | 'onClear'>

/** The number of selected devices, and what can be done with them. */
export default function SelectionBar({ selected, onClear }: SelectionBarProps) {
  return (
    <section class="notice" aria-label="Selection">
      <span>{countText(selected.size, 'device')} selected</span>
      <div class="actions">
        {mayUser('service', 'update') && <Action title="Write" form={WriteForm} selected={selected} />}
        {mayUser('functions', 'update') && <Action title="Groups" form={GroupForm} selected={selected} />}
        {mayUser('meta', 'update') && <Action title="Tags" form={TagForm} selected={selected} />}
        {mayUser('updates', 'update') && <Action title="Update firmware" plan={updatePlan} selected={selected} />}
        {mayUser('device', 'delete') && <Action title="Delete" plan={deletePlan} selected={selected} />}
        <Button kind="quiet" onPress={onClear}>
          Clear
        </Button>
      </div>
    </section>
  )
}

const updatePlan: Plan = {
  text: 'Update the firmware of',
  work: forEachDevice(async (deviceIdentifier) => {
    const outcome = await client.call('POST /updates/:deviceIdentifier', { parameters: { deviceIdentifier } })
    return isSuccess(outcome) ? undefined : outcomeText(deviceIdentifier, outcome)
  }),
}

const deletePlan: Plan = {
  text: 'Delete',
  isDanger: true,
  work: forEachDevice(async (deviceIdentifier) => {
    await client.call('DELETE /devices/:deviceIdentifier', { parameters: { deviceIdentifier } })
    return undefined
  }),
}

interface ActionProps extends Pick<SelectionBarProps, 'selected'> {
  readonly title: string
  /** Absent: the form makes the plan. */
  readonly plan?: Plan
  readonly form?: ComponentType<PlanFormProps>
}

function Action({ title, ...steps }: ActionProps) {
  return (
    <DialogButton button={`${title}…`} title={title} kind={steps.plan?.isDanger ? 'danger' : undefined} isWide>
      <Steps {...steps} />
    </DialogButton>
  )
}

/**
 * The steps of a change: its form, a confirmation with the number of devices, and the run. It concerns the devices that
 * were selected at the start.
 */
function Steps({ plan: fixedPlan, form: PlanForm, selected }: Omit<ActionProps, 'title'>) {
  const [devices] = useState(() => [...selected].sort())
  const [plan, setPlan] = useState(fixedPlan)
  const [isConfirmed, setConfirmed] = useState(false)
  if (!plan) return PlanForm ? <PlanForm devices={devices} onPlan={setPlan} /> : null
  if (isConfirmed) return <Run devices={devices} work={plan.work} />
  return (
    <ConfirmForm
      confirm={`${plan.isDanger ? 'Delete' : 'Apply to'} ${countText(devices.length, 'device')}`}
      kind={plan.isDanger ? 'danger' : 'primary'}
      typed={plan.isDanger ? String(devices.length) : undefined}
      onConfirm={() => {
        setConfirmed(true)
        return false
      }}
    >
      <p>
        {plan.text} <strong>{countText(devices.length, 'device')}</strong>?
      </p>
      {plan.isDanger && <p>Their values, metadata and secrets are deleted. This cannot be undone.</p>}
    </ConfirmForm>
  )
}

interface PlanFormProps {
  readonly devices: readonly string[]
  readonly onPlan: (plan: Plan) => void
}

const choose = { value: '', label: 'Choose' }

function WriteForm({ devices, onPlan }: PlanFormProps) {
  const [service, setService] = useState('')
  const [key, setKey] = useState('')
  const [text, setText] = useState<string>()
  const [fault, setFault] = useState<string>()
  const desired = useField(false)
  const schema = useSchemas().get(service)
  const { sample, warning } = useTarget({ service, devices })
  const property = sample?.get(Number(key))
  const about = property && schemaOfProperty(schema, property.propId)
  const writable = [...(sample?.values() ?? [])].filter((each) =>
    isWritable(each, schemaOfProperty(schema, each.propId)),
  )
  const ids = writable.map(({ propId }) => hexOf(propId))
  const shownText = property ? (text ?? textOf(property, about)) : ''
  const plan = () => {
    if (!property) return false
    const parsed = parseValue(shownText, property, about)
    setFault('fault' in parsed ? parsed.fault : undefined)
    if ('fault' in parsed) return false
    const value = withUnit(valueText({ ...property, tag: 'value', value: parsed.value }, about), about?.unit)
    const updates = { [key]: parsed.value }
    onPlan({
      text: `Write ${nameOf(property.propId, about)} = ${value} to`,
      work: writeValue({ serviceIdentifier: service, updates, ...(desired.value && { desired: true }) }),
    })
    return false
  }
  return (
    <Form submit="Continue" onSubmit={plan} isDisabled={!property}>
      <Select
        label="Service"
        value={service}
        options={[choose, ...useKnownServices()]}
        onChange={(next) => {
          setService(next)
          setKey('')
        }}
        hasFocus
      />
      <Warning text={warning} />
      {sample && (
        <Select
          label="Property"
          value={key}
          options={[choose, ...propertyOptions(schema, sample).filter(({ value }) => ids.includes(value))]}
          onChange={(next) => {
            setKey(next)
            setText(undefined)
          }}
        />
      )}
      {property && (
        <>
          <ValueField label="Value" text={shownText} onText={setText} problem={fault} {...{ property, about }} />
          <Checkbox
            label="Also for devices that are offline"
            hint="They get the value when they connect."
            {...desired}
          />
        </>
      )}
    </Form>
  )
}

/** Whether the devices are added to something, or removed from it. */
function useDirection() {
  const direction = useField<'add' | 'remove'>('add')
  const options = [
    { value: 'add', label: 'Add' },
    { value: 'remove', label: 'Remove' },
  ] as const
  return { isAdded: direction.value === 'add', select: <Select label="Change" {...direction} options={options} /> }
}

const newGroup = { value: 'new', label: 'New group' }

/** Adds the devices to a group, which may be new, or removes them from a group. */
function GroupForm({ onPlan }: PlanFormProps) {
  const groups = useGroups() ?? []
  const group = useField('')
  const { isAdded, select } = useDirection()
  const newName = useField('')
  const id = group.value
  const known = groups.map(({ resourceIdentifier, name }) => ({ value: idOf(resourceIdentifier), label: name }))
  const options = isAdded && mayUser('functions', 'create') ? [choose, newGroup, ...known] : [choose, ...known]
  const isNew = isAdded && id === newGroup.value
  const name = isNew ? newName.value.trim() : known.find(({ value }) => value === id)?.label
  const plan = () => {
    const text = isAdded ? `Add to the group ${name}:` : `Remove from the group ${name}:`
    onPlan({ text, work: isNew && name ? createGroup(name) : changeGroup(id, isAdded) })
    return false
  }
  return (
    <Form submit="Continue" onSubmit={plan} isDisabled={!name}>
      {select}
      <Select label="Group" {...group} options={options} />
      {isNew && <TextField label="Name" {...newName} maxLength={128} hasFocus />}
    </Form>
  )
}

function TagForm({ onPlan }: PlanFormProps) {
  const field = useField('')
  const { isAdded, select } = useDirection()
  const tag = field.value.trim()
  const plan = () => {
    onPlan({ text: isAdded ? `Add the tag ${tag} to` : `Remove the tag ${tag} from`, work: changeTag(tag, isAdded) })
    return false
  }
  return (
    <Form submit="Continue" onSubmit={plan} isDisabled={tag === ''}>
      {select}
      <TextField label="Tag" {...field} maxLength={64} hasFocus />
    </Form>
  )
}

/** The pause between renderings, because there may be hundreds of outcomes a second. */
const renderMs = 200
const rowHeightPx = 40

/** Runs an action, and shows its progress and the outcome for each device, failed devices first. */
function Run({ devices, work }: Pick<PlanFormProps, 'devices'> & Pick<Plan, 'work'>) {
  const close = useContext(CloseDialogContext)
  const [faults] = useState(() => new Map<string, string | undefined>())
  const [rows, setRows] = useState<readonly Outcome[]>([])
  const [running, setRunning] = useState<AbortController>()
  const show = () => {
    const all = [...faults].map(([device, fault]) => ({ device, fault }))
    setRows([...all.filter(({ fault }) => fault), ...all.filter(({ fault }) => !fault)])
  }
  const [rendering] = useState(() => delayed(renderMs, show))
  const start = async (on: readonly string[]) => {
    const stop = new AbortController()
    setRunning(stop)
    for (const device of on) faults.delete(device)
    const report = (outcomes: readonly Outcome[]) => {
      for (const { device, fault } of outcomes) faults.set(device, fault)
      rendering.start()
    }
    await work(on, report, stop.signal).catch((problem) => {
      const fault = problemText(problem)
      for (const device of on) if (!faults.has(device)) faults.set(device, fault)
    })
    show()
    setRunning(undefined)
  }
  useEffect(() => {
    void start(devices)
    return () => rendering.cancel()
  }, [])
  useEffect(() => () => running?.abort(), [running])
  // Closing the dialog by accident would stop the remaining changes, and hide the outcomes.
  useLockedDialog(running !== undefined)
  const failed = rows.filter(({ fault }) => fault)
  return (
    <div class="form">
      <progress aria-label="Devices" max={devices.length} value={rows.length} />
      <p role="status">
        {rows.length - failed.length} of {countText(devices.length, 'device')} done
        {failed.length > 0 && `, ${failed.length} failed`}
      </p>
      <div class="many-outcomes">
        <VirtualList
          label="Outcomes"
          rows={rows}
          rowHeight={rowHeightPx}
          rowKey={({ device }) => device}
          render={({ device, fault }) => (
            <span>
              <code>{device}</code> {fault ? <span class="problem">{fault}</span> : 'done'}
            </span>
          )}
        />
      </div>
      <div class="actions">
        {running && <Button onPress={() => running.abort()}>Stop</Button>}
        {!running && failed.length > 0 && (
          <Button kind="primary" onPress={() => void start(failed.map(({ device }) => device))}>
            Try {failed.length} failed again
          </Button>
        )}
        {!running && <Button onPress={close}>Close</Button>}
      </div>
    </div>
  )
}
