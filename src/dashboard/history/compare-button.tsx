import { useState } from 'preact/hooks'
import { useSuggestedDevices } from '#dashboard/binding/known-names'
import { useDevices } from '#dashboard/binding/use-devices'
import { DialogButton } from '#dashboard/components/dialog'
import { Select, SuggestField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { type ChartSeries, numericSeries, seriesKey } from '#dashboard/history/chart-series'
import { liveState } from '#dashboard/state'

export interface CompareProps {
  readonly series: readonly ChartSeries[]
  readonly onAdd: (series: ChartSeries) => void
}

/** Adds another property, of the same device or of another one, to a chart. */
export function CompareButton(props: CompareProps) {
  return (
    <DialogButton button="Compare…" title="Add a property to the chart">
      {(close) => <CompareForm {...props} onClose={close} />}
    </DialogButton>
  )
}

function CompareForm({ series, onAdd, onClose }: CompareProps & { readonly onClose: () => void }) {
  const [first] = series
  const [device, setDevice] = useState(first?.deviceIdentifier ?? '')
  const { devices, schemas } = liveState()
  const typed = device.trim().toUpperCase()
  const suggestions = useSuggestedDevices(device.trim())
  const isRead = useDevices([typed])
  const view = devices.get(typed)
  const shown = new Set(series.map(seriesKey))
  const offered = view ? numericSeries(view, schemas).filter((each) => !shown.has(seriesKey(each))) : []
  const options = offered.map((each) => {
    const service = schemas.get(each.serviceIdentifier)?.name ?? each.serviceIdentifier
    return { value: seriesKey(each), label: `${service} · ${each.name}` }
  })
  // On another device most users want the same property.
  const same = offered.find(
    ({ serviceIdentifier, propId }) => serviceIdentifier === first?.serviceIdentifier && propId === first.propId,
  )
  const [choice, setChoice] = useState('')
  const chosen = offered.find((each) => seriesKey(each) === choice) ?? same ?? offered[0]
  return (
    <Form
      submit="Add"
      onCancel={onClose}
      isDisabled={!chosen}
      onSubmit={() => {
        if (chosen) onAdd(chosen)
        onClose()
      }}
    >
      <SuggestField
        label="Device"
        value={device}
        onInput={setDevice}
        suggestions={suggestions}
        problem={view || !isRead ? undefined : 'No such device.'}
      />
      {chosen ? (
        <Select label="Property" value={seriesKey(chosen)} options={options} onChange={setChoice} />
      ) : (
        view && <p class="soft">The device has no other numeric property.</p>
      )}
    </Form>
  )
}
