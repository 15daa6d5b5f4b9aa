import { useState } from 'preact/hooks'
import { propertyKey, type Schemas } from '#dashboard/pages/fleet/columns'
import { operatorsFor } from '#dashboard/pages/fleet/condition'
import type { Condition, Operator } from '#dashboard/pages/fleet/view'
import { Dialog } from '#dashboard/parts/dialog'
import { Select, TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { aboutOf, nameOf } from '#dashboard/values/format-value'

export interface ConditionDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  /** Only its properties, where one was chosen. */
  readonly service: string
  readonly offers: ReadonlyMap<string, readonly number[]>
  readonly schemas: Schemas
  readonly onChoose: (condition: Condition) => void
}

/** Asks for devices by what a property of theirs stands at; followed live, like everything else on the page. */
export function ConditionDialog(props: ConditionDialogProps) {
  return (
    <Dialog title="Only devices where" isOpen={props.isOpen} onClose={props.onClose}>
      <ConditionForm {...props} />
    </Dialog>
  )
}

function ConditionForm({ onClose, service, offers, schemas, onChoose }: ConditionDialogProps) {
  const choices = propertiesOf(offers, schemas, service)
  const [key, setKey] = useState(choices[0]?.value ?? '')
  const [operator, setOperator] = useState<Operator>('>')
  const [value, setValue] = useState('')
  const chosen = choices.find((choice) => choice.value === key)
  const about = chosen && aboutOf(schemas.get(chosen.serviceIdentifier), chosen.propId)
  const allowed = operatorsFor(about)
  const taken = allowed.includes(operator) ? operator : '='
  const names = Object.values(about?.enum ?? {}).map(({ name }) => name)
  if (!chosen) return <p>No device has a property yet.</p>
  const { serviceIdentifier, propId } = chosen
  return (
    <Form
      submit="Show these"
      onCancel={onClose}
      isDisabled={value.trim() === '' && names.length === 0}
      onSubmit={() => {
        onChoose({ serviceIdentifier, propId, operator: taken, value: value.trim() || (names[0] ?? '') })
        onClose()
      }}
    >
      <Select label="Property" value={key} options={choices} onChange={setKey} hasFocus />
      <Select
        label="is"
        value={taken}
        options={allowed.map((each) => ({ value: each, label: words[each] }))}
        onChange={setOperator}
      />
      {names.length > 0 ? (
        <Select
          label="Value"
          value={value || (names[0] ?? '')}
          options={names.map((name) => ({ value: name, label: name }))}
          onChange={setValue}
        />
      ) : (
        <TextField
          label={about?.unit ? `Value, in ${about.unit}` : 'Value'}
          value={value}
          onInput={setValue}
          autocomplete="off"
          hint={about?.type === 'bool' ? 'Yes or No' : undefined}
        />
      )}
    </Form>
  )
}

const words: Readonly<Record<Operator, string>> = {
  '>': 'more than',
  '>=': 'at least',
  '<': 'less than',
  '<=': 'at most',
  '=': 'equal to',
  '≠': 'other than',
}

function propertiesOf(offers: ConditionDialogProps['offers'], schemas: Schemas, service: string) {
  return [...offers]
    .filter(([serviceIdentifier]) => service === '' || service === serviceIdentifier)
    .flatMap(([serviceIdentifier, propIds]) => {
      const schema = schemas.get(serviceIdentifier)
      return propIds.map((propId) => ({
        serviceIdentifier,
        propId,
        value: propertyKey(serviceIdentifier, propId),
        label: `${schema?.name ?? serviceIdentifier} · ${nameOf(propId, aboutOf(schema, propId))}`,
      }))
    })
}
