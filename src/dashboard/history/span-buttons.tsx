import { useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { DialogButton } from '#dashboard/components/dialog'
import { Field } from '#dashboard/components/fields'
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

export interface SpanButtonsProps {
  readonly span: Span
  readonly onChoose: (span: Span) => void
  /** Undo the last zoom; undefined without one. */
  readonly onBack: (() => void) | undefined
}

/** The ranges, and everything that dragging in the chart does, for keyboards and touch. */
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
          {(close) => <RangeForm span={span} onChoose={onChoose} onClose={close} />}
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

interface RangeFormProps extends Omit<SpanButtonsProps, 'onBack'> {
  readonly onClose: () => void
}

function RangeForm({ span, onChoose, onClose }: RangeFormProps) {
  const [{ from, to }] = useState(() => edgesOf(span, client.now()))
  const [texts, setTexts] = useState({ from: inputText(from), to: inputText(to) })
  const edges = { from: Date.parse(texts.from), to: Date.parse(texts.to) }
  return (
    <Form
      submit="Show"
      onCancel={onClose}
      onSubmit={() => {
        const fault = spanFault(edges)
        if (fault) throw new Error(fault)
        onChoose(fixedSpan(edges, client.now()))
        onClose()
      }}
    >
      {(Object.entries(labels) as [keyof Edges, string][]).map(([name, label]) => (
        <Field key={name} id={`range-${name}`} label={label}>
          <input
            class="input"
            id={`range-${name}`}
            type="datetime-local"
            step={1}
            required
            value={texts[name]}
            onInput={({ currentTarget }) => setTexts({ ...texts, [name]: currentTarget.value })}
          />
        </Field>
      ))}
    </Form>
  )
}

const labels: Readonly<Record<keyof Edges, string>> = { from: 'From', to: 'To' }

/** `2026-01-31T12:00:00`, in local time. */
function inputText(at: number): string {
  const date = new Date(at)
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
