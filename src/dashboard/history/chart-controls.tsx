import { useDevices, useSuggestedDevices } from '#dashboard/binding/known-names'
import { Button } from '#dashboard/components/button'
import { DialogButton } from '#dashboard/components/dialog'
import { Select, TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { type ChartSeries, numericSeries, seriesKey } from '#dashboard/history/chart-series'
import {
  type Edges,
  edgesOf,
  fixedSpan,
  ranges,
  type Span,
  shiftEdges,
  spanFault,
  zoomEdges,
} from '#dashboard/history/span'
import { client, liveState } from '#dashboard/session'
import { localTime } from '#dashboard/values/format-value'

export interface SpanButtonsProps {
  readonly span: Span
  readonly onChoose: (span: Span) => void
  /** Returns to the span before the last move, zoom or choice of dates; undefined if there was none. */
  readonly onBack: (() => void) | undefined
}

/** Buttons for ranges, and buttons that move and zoom for users who cannot drag in the chart. */
export function SpanButtons({ span, onChoose, onBack }: SpanButtonsProps) {
  const change = (by: (edges: Edges, now: number) => Edges) => () => {
    const now = client.now()
    onChoose(by(edgesOf(span, now), now))
  }
  return (
    <>
      <fieldset class="segments">
        <legend class="hidden">Range</legend>
        {ranges.map(({ label, lastMs }) => (
          <Button
            key={label}
            isPressed={'lastMs' in span && span.lastMs === lastMs}
            label={`Last ${label}`}
            onPress={() => onChoose({ lastMs })}
          >
            {label}
          </Button>
        ))}
        <DialogButton button="Range…" title="Range">
          <RangeForm span={span} onChoose={onChoose} />
        </DialogButton>
      </fieldset>
      <fieldset class="segments">
        <legend class="hidden">Move and zoom</legend>
        <Button label="Earlier" onPress={change((edges, now) => shiftEdges(edges, -1, now))}>
          ‹
        </Button>
        <Button label="Later" isDisabled={'lastMs' in span} onPress={change((edges, now) => shiftEdges(edges, 1, now))}>
          ›
        </Button>
        <Button label="Zoom in" onPress={change((edges, now) => zoomEdges(edges, 0.5, now))}>
          +
        </Button>
        <Button label="Zoom out" onPress={change((edges, now) => zoomEdges(edges, 2, now))}>
          −
        </Button>
      </fieldset>
      {onBack && <Button onPress={onBack}>Back</Button>}
    </>
  )
}

function RangeForm({ span, onChoose }: Omit<SpanButtonsProps, 'onBack'>) {
  const shown = edgesOf(span, client.now())
  const from = useField(localTime(shown.from))
  const to = useField(localTime(shown.to))
  return (
    <Form
      submit="Show"
      onSubmit={() => {
        const edges = { from: Date.parse(from.value), to: Date.parse(to.value) }
        const fault = spanFault(edges)
        if (fault) throw new Error(fault)
        onChoose(fixedSpan(edges, client.now()))
      }}
    >
      <TextField label="From" type="datetime-local" {...from} isRequired />
      <TextField label="To" type="datetime-local" {...to} isRequired />
    </Form>
  )
}

interface CompareProps {
  readonly series: readonly ChartSeries[]
  readonly onAdd: (series: ChartSeries) => void
}

/** Adds another property, of the same or of another device, to a chart. */
export function CompareForm({ series, onAdd }: CompareProps) {
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
      <TextField
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
