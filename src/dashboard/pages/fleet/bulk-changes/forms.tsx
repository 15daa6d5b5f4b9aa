import { useState } from 'preact/hooks'
import { idOf } from '#dashboard/binding/binding'
import { useGroups, useKnownServices, useSchemas, useTarget } from '#dashboard/binding/known-names'
import { Warning } from '#dashboard/binding/service-field'
import { propertyOptions } from '#dashboard/binding/target'
import { Checkbox, Select, TextField } from '#dashboard/components/fields'
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
  readonly onCancel: () => void
}

const choose = { value: '', label: 'Choose' }

/** A value for a property of a service. */
export function WriteForm({ devices, onPlan, onCancel }: PlanFormProps) {
  const [service, setService] = useState('')
  const [key, setKey] = useState('')
  const [text, setText] = useState<string>()
  const [fault, setFault] = useState<string>()
  const [desired, setDesired] = useState(false)
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
    if (!property) return
    const parsed = parseValue(shownText, property, about)
    setFault('fault' in parsed ? parsed.fault : undefined)
    if ('fault' in parsed) return
    const value = withUnit(valueText({ ...property, tag: 'value', value: parsed.value }, about), about?.unit)
    onPlan({
      text: `Write ${nameOf(property.propId, about)} = ${value} to`,
      work: writeValue({
        serviceIdentifier: service,
        updates: { [key]: parsed.value },
        ...(desired && { desired }),
      }),
    })
  }
  return (
    <Form submit="Continue" onSubmit={plan} onCancel={onCancel} isDisabled={!property}>
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
            isChecked={desired}
            onChange={setDesired}
          />
        </>
      )}
    </Form>
  )
}

const directions = [
  { value: 'add', label: 'Add' },
  { value: 'remove', label: 'Remove' },
] as const

const newGroup = { value: 'new', label: 'New group' }

/** Adds to a group, which may be a new one, or removes from it. */
export function GroupForm({ onPlan, onCancel }: PlanFormProps) {
  const groups = useGroups() ?? []
  const [id, setId] = useState('')
  const [direction, setDirection] = useState<'add' | 'remove'>('add')
  const [newName, setNewName] = useState('')
  const isAdded = direction === 'add'
  const known = groups.map(({ resourceIdentifier, name }) => ({ value: idOf(resourceIdentifier), label: name }))
  const options = isAdded && mayUser('functions', 'create') ? [choose, newGroup, ...known] : [choose, ...known]
  const isNew = isAdded && id === newGroup.value
  const name = isNew ? newName.trim() : known.find(({ value }) => value === id)?.label
  return (
    <Form
      submit="Continue"
      onSubmit={() =>
        onPlan({
          text: isAdded ? `Add to the group ${name}:` : `Remove from the group ${name}:`,
          work: isNew && name ? createGroup(name) : changeGroup(id, isAdded),
        })
      }
      onCancel={onCancel}
      isDisabled={!name}
    >
      <Select label="Change" value={direction} options={directions} onChange={setDirection} />
      <Select label="Group" value={id} options={options} onChange={setId} />
      {isNew && <TextField label="Name" value={newName} onInput={setNewName} maxLength={128} hasFocus />}
    </Form>
  )
}

/** Adds or removes a tag. */
export function TagForm({ onPlan, onCancel }: PlanFormProps) {
  const [text, setText] = useState('')
  const [direction, setDirection] = useState<'add' | 'remove'>('add')
  const tag = text.trim()
  const isAdded = direction === 'add'
  return (
    <Form
      submit="Continue"
      onSubmit={() =>
        onPlan({
          text: isAdded ? `Add the tag ${tag} to` : `Remove the tag ${tag} from`,
          work: changeTag(tag, isAdded),
        })
      }
      onCancel={onCancel}
      isDisabled={tag === ''}
    >
      <Select label="Change" value={direction} options={directions} onChange={setDirection} />
      <TextField label="Tag" value={text} onInput={setText} maxLength={64} hasFocus />
    </Form>
  )
}
