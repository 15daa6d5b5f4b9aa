import { useSuggestedDevices } from '#dashboard/binding/known-names'
import { useDevices } from '#dashboard/binding/use-devices'
import { DialogButton } from '#dashboard/components/dialog'
import { Select, SuggestField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { type ChartSeries, numericSeries, seriesKey } from '#dashboard/history/chart-series'
import { liveState } from '#dashboard/state'

export interface CompareProps {
  readonly series: readonly ChartSeries[]
  readonly onAdd: (series: ChartSeries) => void
}

/** Adds another property, of the same or of another device, to a chart. */
export function CompareButton(props: CompareProps) {
  return (
    <DialogButton button="Compare…" title="Add a property to the chart">
      <CompareForm {...props} />
    </DialogButton>
  )
}

function CompareForm({ series, onAdd }: CompareProps) {
  const [first] = series
  const device = useField(first?.deviceIdentifier ?? '')
  const { devices, schemas } = liveState()
  const typed = device.value.trim().toUpperCase()
  const suggestions = useSuggestedDevices(device.value.trim())
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
  const choice = useField('')
  const chosen = offered.find((each) => seriesKey(each) === choice.value) ?? same ?? offered[0]
  return (
    <Form submit="Add" isDisabled={!chosen} onSubmit={() => chosen && onAdd(chosen)}>
      <SuggestField
        label="Device"
        {...device}
        suggestions={suggestions}
        problem={view || !isRead ? undefined : 'No such device.'}
      />
      {chosen ? (
        <Select label="Property" {...choice} value={seriesKey(chosen)} options={options} />
      ) : (
        view && <p class="soft">The device has no other numeric property.</p>
      )}
    </Form>
  )
}
