import { useState } from 'preact/hooks'
import { idOf } from '#dashboard/binding/binding'
import { useGroups, useKnownServices, useSchemas, useTarget } from '#dashboard/binding/known-names'
import { Warning } from '#dashboard/binding/service-field'
import { propertyOptions } from '#dashboard/binding/target'
import { Checkbox, Select, TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { ValueField } from '#dashboard/pages/device/value-field'
import { isWritable, parseValue, textOf } from '#dashboard/pages/device/written-value'
import {
  changeGroup,
  changeTag,
  createGroup,
  type Plan,
  writeValue,
} from '#dashboard/pages/fleet/bulk-changes/bulk-change'
import { mayUser } from '#dashboard/session'
import { hexOf, nameOf, schemaOfProperty, valueText, withUnit } from '#dashboard/values/format-value'

export interface PlanFormProps {
  readonly devices: readonly string[]
  readonly onPlan: (plan: Plan) => void
}

const choose = { value: '', label: 'Choose' }

export function WriteForm({ devices, onPlan }: PlanFormProps) {
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

type Direction = 'add' | 'remove'

const directions = [
  { value: 'add', label: 'Add' },
  { value: 'remove', label: 'Remove' },
] as const

const newGroup = { value: 'new', label: 'New group' }

/** Adds the devices to a group, which may be new, or removes them from a group. */
export function GroupForm({ onPlan }: PlanFormProps) {
  const groups = useGroups() ?? []
  const group = useField('')
  const direction = useField<Direction>('add')
  const newName = useField('')
  const id = group.value
  const isAdded = direction.value === 'add'
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
      <Select label="Change" {...direction} options={directions} />
      <Select label="Group" {...group} options={options} />
      {isNew && <TextField label="Name" {...newName} maxLength={128} hasFocus />}
    </Form>
  )
}

export function TagForm({ onPlan }: PlanFormProps) {
  const field = useField('')
  const direction = useField<Direction>('add')
  const tag = field.value.trim()
  const isAdded = direction.value === 'add'
  const plan = () => {
    onPlan({ text: isAdded ? `Add the tag ${tag} to` : `Remove the tag ${tag} from`, work: changeTag(tag, isAdded) })
    return false
  }
  return (
    <Form submit="Continue" onSubmit={plan} isDisabled={tag === ''}>
      <Select label="Change" {...direction} options={directions} />
      <TextField label="Tag" {...field} maxLength={64} hasFocus />
    </Form>
  )
}
