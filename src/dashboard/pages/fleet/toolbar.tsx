import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { DialogButton } from '#dashboard/components/dialog'
import { Select, TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { propertyKey, type Schemas } from '#dashboard/pages/fleet/columns'
import { operatorsFor } from '#dashboard/pages/fleet/condition'
import type { Condition, FleetView, Operator, StatusFilter } from '#dashboard/pages/fleet/view'
import { nameOf, schemaOfProperty } from '#dashboard/values/format-value'

export interface FleetToolbarProps {
  readonly view: FleetView
  readonly change: (part: Partial<FleetView>) => void
  readonly offers: ReadonlyMap<string, readonly number[]>
  readonly schemas: Schemas
  readonly children: ComponentChildren
}

const statuses: readonly (readonly [StatusFilter, string])[] = [
  ['any', 'All'],
  ['online', 'Online'],
  ['idle', 'Idle'],
  ['offline', 'Offline'],
]

/** Search, filters and columns. `/` focuses the search from anywhere on the page. */
export function FleetToolbar({ view, change, offers, schemas, children }: FleetToolbarProps) {
  const search = useRef<HTMLInputElement>(null)
  useSearchKey(() => search.current?.focus())
  const services = [...offers.keys()]
    .map((identifier) => [identifier, schemas.get(identifier)?.name ?? identifier] as const)
    .sort(([, one], [, other]) => (one < other ? -1 : 1))
  return (
    <search class="toolbar" aria-label="Devices">
      <input
        ref={search}
        class="input search"
        type="search"
        placeholder="Search, or press /"
        aria-label="Search identifiers, names, sites, tags and versions"
        value={view.search}
        onInput={({ currentTarget }) => change({ search: currentTarget.value })}
        onKeyDown={({ key }) => key === 'Escape' && change({ search: '' })}
      />
      <div class="filters">
        <fieldset class="segments">
          <legend class="hidden">Status</legend>
          {statuses.map(([status, title]) => (
            <Button key={status} isPressed={view.status === status} onPress={() => change({ status })}>
              {title}
            </Button>
          ))}
        </fieldset>
        <select
          class="input service"
          aria-label="Service"
          value={view.service}
          onChange={({ currentTarget }) =>
            change({ service: currentTarget.value, sort: 'device', isDescending: false })
          }
        >
          <option value="">Any service</option>
          {services.map(([identifier, name]) => (
            <option key={identifier} value={identifier}>
              {name}
            </option>
          ))}
        </select>
        {view.condition ? (
          <Button label="Remove the condition" isPressed onPress={() => change({ condition: undefined })}>
            {conditionText(view.condition, schemas)} <span aria-hidden="true">×</span>
          </Button>
        ) : (
          <DialogButton button="Condition…" title="Only devices where">
            {(close) => (
              <ConditionForm
                service={view.service}
                onClose={close}
                onChoose={(condition) => change({ condition })}
                {...{ offers, schemas }}
              />
            )}
          </DialogButton>
        )}
        {children}
      </div>
    </search>
  )
}

function conditionText(condition: NonNullable<FleetView['condition']>, schemas: Schemas): string {
  const about = schemaOfProperty(schemas.get(condition.serviceIdentifier), condition.propId)
  const unit = about?.unit ? ` ${about.unit}` : ''
  return `${nameOf(condition.propId, about)} ${condition.operator} ${condition.value}${unit}`
}

/** As in code viewers, a slash outside of inputs focuses the search. */
function useSearchKey(run: () => void): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { target, key } = event
      if (key !== '/' || (target instanceof Element && target.closest('input, textarea, select, dialog'))) return
      event.preventDefault()
      run()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
}

interface ConditionFormProps {
  readonly onClose: () => void
  /** The service whose properties are offered; empty: those of all services. */
  readonly service: string
  readonly offers: ReadonlyMap<string, readonly number[]>
  readonly schemas: Schemas
  readonly onChoose: (condition: Condition) => void
}

/** Filters devices by the value of a property; the result stays live. */
function ConditionForm({ onClose, service, offers, schemas, onChoose }: ConditionFormProps) {
  const choices = propertiesOf(offers, schemas, service)
  const [key, setKey] = useState(choices[0]?.value ?? '')
  const [operator, setOperator] = useState<Operator>('>')
  const [value, setValue] = useState('')
  const chosen = choices.find((choice) => choice.value === key)
  const about = chosen && schemaOfProperty(schemas.get(chosen.serviceIdentifier), chosen.propId)
  const operatorOptions = operatorsFor(about)
  const chosenOperator = operatorOptions.includes(operator) ? operator : '='
  const names = Object.values(about?.enum ?? {}).map(({ name }) => name)
  if (!chosen) return <p>No properties yet.</p>
  const { serviceIdentifier, propId } = chosen
  return (
    <Form
      submit="Apply"
      onCancel={onClose}
      isDisabled={value.trim() === '' && names.length === 0}
      onSubmit={() => {
        onChoose({ serviceIdentifier, propId, operator: chosenOperator, value: value.trim() || (names[0] ?? '') })
        onClose()
      }}
    >
      <Select label="Property" value={key} options={choices} onChange={setKey} hasFocus />
      <Select
        label="is"
        value={chosenOperator}
        options={operatorOptions.map((each) => ({ value: each, label: operatorLabels[each] }))}
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

const operatorLabels: Readonly<Record<Operator, string>> = {
  '>': 'more than',
  '>=': 'at least',
  '<': 'less than',
  '<=': 'at most',
  '=': 'equal to',
  '≠': 'not equal to',
}

function propertiesOf(offers: ConditionFormProps['offers'], schemas: Schemas, service: string) {
  return [...offers]
    .filter(([serviceIdentifier]) => service === '' || service === serviceIdentifier)
    .flatMap(([serviceIdentifier, propIds]) => {
      const schema = schemas.get(serviceIdentifier)
      return propIds.map((propId) => ({
        serviceIdentifier,
        propId,
        value: propertyKey(serviceIdentifier, propId),
        label: `${schema?.name ?? serviceIdentifier} · ${nameOf(propId, schemaOfProperty(schema, propId))}`,
      }))
    })
}
