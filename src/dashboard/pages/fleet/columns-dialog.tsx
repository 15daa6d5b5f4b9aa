import { useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { DialogButton } from '#dashboard/components/dialog'
import { Checkboxes, Field, type Option } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { propertyKey } from '#dashboard/pages/fleet/columns'
import { liveState } from '#dashboard/state'
import { nameOf, schemaOfProperty } from '#dashboard/values/format-value'

export interface ColumnsProps {
  readonly chosen: readonly string[]
  readonly service: string
  readonly offers: ReadonlyMap<string, readonly number[]>
  /** Undefined: the default columns. */
  readonly onChoose: (keys: readonly string[] | undefined) => void
}

/** Chooses the columns of the fleet; stored in this browser. */
export function ColumnsButton(props: ColumnsProps) {
  return (
    <DialogButton button="Columns…" title="Columns" isWide>
      {(close) => <ColumnsForm {...props} onClose={close} />}
    </DialogButton>
  )
}

function ColumnsForm({ onClose, chosen, service, offers, onChoose }: ColumnsProps & { readonly onClose: () => void }) {
  const [keys, setKeys] = useState(chosen)
  const group = (title: string, options: readonly Option[]) =>
    options.length > 0 && (
      <Field key={title} label={title}>
        <Checkboxes options={options} checked={keys} onChange={setKeys} />
      </Field>
    )
  return (
    <Form
      submit="Apply"
      onCancel={onClose}
      isDisabled={keys.length === 0}
      onSubmit={() => {
        onChoose(['device', ...keys.filter((key) => key !== 'device')])
        onClose()
      }}
    >
      {group('Every device', generalColumns)}
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
            onClose()
          }}
        >
          Reset
        </Button>
      </p>
    </Form>
  )
}

const generalColumns: readonly Option[] = [
  { value: 'status', label: 'Status' },
  { value: 'seen', label: 'Last message' },
  { value: 'connects', label: 'Connects' },
  { value: 'trend', label: 'Last hour' },
  { value: 'values', label: 'Values' },
]

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
