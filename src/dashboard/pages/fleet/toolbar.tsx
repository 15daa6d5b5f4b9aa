import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { DialogButton } from '#dashboard/components/dialog'
import { Checkboxes, Field, type Option, Select, TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { CloseDialogContext } from '#dashboard/components/unsaved-input'
import { isObject, readJson } from '#dashboard/conditions/json-text'
import { fixedColumns, propertyKey } from '#dashboard/pages/fleet/columns'
import {
  type Condition,
  type FleetView,
  type Operator,
  operators,
  operatorsFor,
  statusFilters,
} from '#dashboard/pages/fleet/view'
import { readPreference, storePreference } from '#dashboard/preferences'
import { liveState } from '#dashboard/session'
import { nameOf, schemaOfProperty, withUnit } from '#dashboard/values/format-value'
import type { JsonObject } from '#model/json-value'

export interface FleetToolbarProps {
  readonly view: FleetView
  readonly change: (part: Partial<FleetView>) => void
  readonly offers: ReadonlyMap<string, readonly number[]>
  /** The keys of the shown columns. */
  readonly columns: readonly string[]
  /** Called with the keys of the chosen columns; undefined: the default columns. */
  readonly onColumns: (keys: readonly string[] | undefined) => void
}

/** Search, filters and columns. `/` focuses the search from anywhere on the page. */
export function FleetToolbar(props: FleetToolbarProps) {
  const { view, change, offers } = props
  const { schemas } = liveState()
  const search = useRef<HTMLInputElement>(null)
  // As in code viewers, a slash outside of inputs focuses the search.
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { target, key } = event
      if (key !== '/' || (target instanceof Element && target.closest('input, textarea, select, dialog'))) return
      event.preventDefault()
      search.current?.focus()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
  const services = [...offers.keys()]
    .map((identifier) => [identifier, schemas.get(identifier)?.name ?? identifier] as const)
    .sort(([, one], [, other]) => (one < other ? -1 : 1))
  return (
    <search class="toolbar actions" aria-label="Devices">
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
      <div class="filters actions">
        <fieldset class="segments">
          <legend class="hidden">Status</legend>
          {(Object.keys(statusFilters) as (keyof typeof statusFilters)[]).map((status) => (
            <Button key={status} isPressed={view.status === status} onPress={() => change({ status })}>
              {statusFilters[status]}
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
            {conditionText(view.condition)} <span aria-hidden="true">×</span>
          </Button>
        ) : (
          <DialogButton button="Condition…" title="Only devices where">
            <ConditionForm {...{ view, change, offers }} />
          </DialogButton>
        )}
        <DialogButton button="Columns…" title="Columns" isWide>
          <ColumnsForm {...props} />
        </DialogButton>
      </div>
    </search>
  )
}

function conditionText({ serviceIdentifier, propId, operator, value }: Condition): string {
  const about = schemaOfProperty(liveState().schemas.get(serviceIdentifier), propId)
  return `${nameOf(propId, about)} ${operator} ${withUnit(value, about?.unit)}`
}

/** Filters devices by the value of a property; the result stays live. */
function ConditionForm({ view, change, offers }: Pick<FleetToolbarProps, 'view' | 'change' | 'offers'>) {
  const choices = offersOf(offers, view.service).flatMap(({ title, options }) =>
    options.map((option) => ({ ...option, label: `${title} · ${option.label}` })),
  )
  const property = useField(choices[0]?.value ?? '')
  const operatorField = useField<Operator>('>')
  const field = useField('')
  const chosen = choices.find(({ value }) => value === property.value)
  const operatorOptions = operatorsFor(chosen?.about)
  const operator = operatorOptions.includes(operatorField.value) ? operatorField.value : '='
  const names = Object.values(chosen?.about?.enum ?? {}).map(({ name }) => name)
  const [firstName = ''] = names
  const value = field.value.trim() || firstName
  if (!chosen) return <p>No properties yet.</p>
  const { serviceIdentifier, propId, about } = chosen
  return (
    <Form
      submit="Apply"
      isDisabled={value === '' && names.length === 0}
      onSubmit={() => change({ condition: { serviceIdentifier, propId, operator, value } })}
    >
      <Select label="Property" {...property} options={choices} hasFocus />
      <Select
        label="is"
        {...operatorField}
        value={operator}
        options={operatorOptions.map((each) => ({ value: each, label: operators[each].label }))}
      />
      {names.length > 0 ? (
        <Select
          label="Value"
          {...field}
          value={field.value || firstName}
          options={names.map((name) => ({ value: name, label: name }))}
        />
      ) : (
        <TextField
          label={about?.unit ? `Value, in ${about.unit}` : 'Value'}
          {...field}
          autocomplete="off"
          hint={about?.type === 'bool' ? 'Yes or No' : undefined}
        />
      )}
    </Form>
  )
}

/** The properties of one service, or of all, in a list for each service. */
function offersOf(offers: FleetToolbarProps['offers'], service: string) {
  return [...offers]
    .filter(([serviceIdentifier]) => service === '' || service === serviceIdentifier)
    .map(([serviceIdentifier, propIds]) => {
      const schema = liveState().schemas.get(serviceIdentifier)
      const options = propIds.map((propId) => {
        const about = schemaOfProperty(schema, propId)
        const value = propertyKey(serviceIdentifier, propId)
        return { serviceIdentifier, propId, about, value, label: nameOf(propId, about) }
      })
      return { title: schema?.name ?? serviceIdentifier, options }
    })
}

/** Chooses the columns of the fleet, which are stored in this browser. */
function ColumnsForm({ view: { service }, offers, columns, onColumns }: FleetToolbarProps) {
  const close = useContext(CloseDialogContext)
  const [keys, setKeys] = useState(columns)
  const group = (title: string, options: readonly Option[]) =>
    options.length > 0 && (
      <Field key={title} label={title}>
        <Checkboxes options={options} value={keys} onChange={setKeys} />
      </Field>
    )
  return (
    <Form
      submit="Apply"
      isDisabled={keys.length === 0}
      onSubmit={() => onColumns(['device', ...keys.filter((key) => key !== 'device')])}
    >
      {group(
        'Every device',
        fixedColumns.slice(1).map(({ key, title }) => ({ value: key, label: title })),
      )}
      {group('Metadata', metaOptions())}
      {offersOf(offers, service).map(({ title, options }) => group(title, options))}
      <p>
        <Button
          kind="quiet"
          onPress={() => {
            onColumns(undefined)
            close?.()
          }}
        >
          Reset
        </Button>
      </p>
    </Form>
  )
}

/** The largest number of devices to scan, so that the user notices no delay. */
const scannedMax = 1_000
const metaKeysMax = 50

function metaOptions(): readonly Option[] {
  const names = new Set<string>()
  let scanned = 0
  for (const { meta } of liveState().devices.values()) {
    for (const name of Object.keys(meta)) names.add(name)
    scanned += 1
    if (scanned === scannedMax) break
  }
  return [...names]
    .sort()
    .slice(0, metaKeysMax)
    .map((name) => ({ value: `meta:${name}`, label: name }))
}

/** Columns are stored by service, because each service has its own properties. */
const preferenceKey = 'fleet-columns'

export function storedColumns(service: string): readonly string[] | undefined {
  const stored = readColumns()[service]
  return Array.isArray(stored) && stored.every((each) => typeof each === 'string') ? stored : undefined
}

/** Undefined: the default columns. */
export function storeColumns(service: string, keys: readonly string[] | undefined): void {
  const { [service]: _, ...others } = readColumns()
  storePreference(preferenceKey, JSON.stringify(keys ? { ...others, [service]: keys } : others))
}

function readColumns(): JsonObject {
  const read = readJson(readPreference(preferenceKey) ?? '')
  return 'value' in read && isObject(read.value) ? read.value : {}
}
