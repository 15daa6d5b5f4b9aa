import { useContext, useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { DialogButton } from '#dashboard/components/dialog'
import { Checkboxes, Field, type Option } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { CloseDialogContext } from '#dashboard/components/unsaved-input'
import { isObject, readJson } from '#dashboard/conditions/json-text'
import { fixedColumns, propertyKey } from '#dashboard/pages/fleet/columns'
import { readPreference, storePreference } from '#dashboard/preferences'
import { liveState } from '#dashboard/state'
import { nameOf, schemaOfProperty } from '#dashboard/values/format-value'
import type { JsonObject } from '#model/json-value'

export interface ColumnsProps {
  readonly chosen: readonly string[]
  readonly service: string
  readonly offers: ReadonlyMap<string, readonly number[]>
  /** Undefined: the default columns. */
  readonly onChoose: (keys: readonly string[] | undefined) => void
}

/** Chooses the columns of the fleet, which are stored in this browser. */
export function ColumnsButton(props: ColumnsProps) {
  return (
    <DialogButton button="Columns…" title="Columns" isWide>
      <ColumnsForm {...props} />
    </DialogButton>
  )
}

function ColumnsForm({ chosen, service, offers, onChoose }: ColumnsProps) {
  const close = useContext(CloseDialogContext)
  const [keys, setKeys] = useState(chosen)
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
      onSubmit={() => onChoose(['device', ...keys.filter((key) => key !== 'device')])}
    >
      {group(
        'Every device',
        fixedColumns.slice(1).map(({ key, title }) => ({ value: key, label: title })),
      )}
      {group('Metadata', metaOptions())}
      {[...offers]
        .filter(([serviceIdentifier]) => service === '' || service === serviceIdentifier)
        .map(([serviceIdentifier, propIds]) => {
          const schema = liveState().schemas.get(serviceIdentifier)
          const options = propIds.map((propId) => ({
            value: propertyKey(serviceIdentifier, propId),
            label: nameOf(propId, schemaOfProperty(schema, propId)),
          }))
          return group(schema?.name ?? serviceIdentifier, options)
        })}
      <p>
        <Button
          kind="quiet"
          onPress={() => {
            onChoose(undefined)
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

/** The chosen columns, stored in this browser: by service, because each service has its own properties. */

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
