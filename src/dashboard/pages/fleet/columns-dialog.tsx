import { useState } from 'preact/hooks'
import { propertyKey } from '#dashboard/pages/fleet/columns'
import { Button } from '#dashboard/parts/button'
import { DialogButton } from '#dashboard/parts/dialog'
import { Checkbox, Field } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { state } from '#dashboard/state'
import { aboutOf, nameOf } from '#dashboard/values/format-value'

export interface ColumnsProps {
  readonly chosen: readonly string[]
  readonly service: string
  readonly offers: ReadonlyMap<string, readonly number[]>
  /** Undefined: the default columns. */
  readonly onChoose: (keys: readonly string[] | undefined) => void
}

interface Choice {
  readonly key: string
  readonly label: string
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
  const change = (key: string, isChosen: boolean) =>
    setKeys(isChosen ? [...keys, key] : keys.filter((each) => each !== key))
  const group = (title: string, choices: readonly Choice[]) =>
    choices.length > 0 && (
      <Field key={title} label={title}>
        <div class="choices">
          {choices.map(({ key, label }) => (
            <Checkbox
              key={key}
              label={label}
              isChecked={keys.includes(key)}
              onChange={(isChosen) => change(key, isChosen)}
            />
          ))}
        </div>
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
      {group('Every device', general)}
      {group('Metadata', metaChoices())}
      {[...offers]
        .filter(([serviceIdentifier]) => service === '' || service === serviceIdentifier)
        .map(([serviceIdentifier, propIds]) => {
          const schema = state().schemas.get(serviceIdentifier)
          const choices = propIds.map((propId) => ({
            key: propertyKey(serviceIdentifier, propId),
            label: nameOf(propId, aboutOf(schema, propId)),
          }))
          return group(schema?.name ?? serviceIdentifier, choices)
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

const general: readonly Choice[] = [
  { key: 'status', label: 'Status' },
  { key: 'seen', label: 'Last message' },
  { key: 'connects', label: 'Connects' },
  { key: 'values', label: 'Values' },
]

/** The number of devices that can be scanned without delay. */
const scannedMax = 1_000
const metaKeysMax = 50

function metaChoices(): readonly Choice[] {
  const names = new Set<string>()
  let looked = 0
  for (const { meta } of state().devices.values()) {
    for (const name of Object.keys(meta)) names.add(name)
    looked += 1
    if (looked === scannedMax) break
  }
  return [...names]
    .sort()
    .slice(0, metaKeysMax)
    .map((name) => ({ key: `meta:${name}`, label: name }))
}
