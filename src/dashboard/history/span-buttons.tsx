import { Button } from '#dashboard/components/button'
import { DialogButton } from '#dashboard/components/dialog'
import { TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
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
import { client } from '#dashboard/session'
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
