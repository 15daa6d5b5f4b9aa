import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { ChoiceField, Field, Select, TextField, type TextFieldProps } from '#dashboard/components/fields'
import { readJson, writeJson } from '#dashboard/conditions/json-text'
import {
  type ComparisonId,
  comparisons,
  comparisonsFor,
  conditionOf,
  type Operand,
  operandOf,
  type Row,
  type RowFault,
  type Rows,
  rowsOf,
  withComparison,
  withOperand,
} from '#dashboard/conditions/rows'
import type { Condition } from '#model/condition'

export interface ConditionEditorProps {
  readonly label: string
  readonly start: Condition | undefined
  /** Must be the same list until its content changes. */
  readonly operands: readonly Operand[]
  /** An example of a name that is not among the operands. */
  readonly otherName: string
  /** Called with undefined while the input is invalid. */
  readonly onChange: (condition: Condition | undefined) => void
  readonly path?: string | undefined
  /** Shows faults at their fields, after an attempt to save. */
  readonly isChecked: boolean
}

type Draft = { readonly by: 'rows'; readonly rows: Rows } | { readonly by: 'json'; readonly text: string }

const newRow: Row = { name: '', comparison: 'above', values: [''] }

/** Edits a condition as rows, or as JSON if rows cannot express it. Contract 5.2. */
export function ConditionEditor(props: ConditionEditorProps) {
  const { label, start, operands, onChange, path, isChecked } = props
  const [changed, setChanged] = useState<Draft | undefined>(undefined)
  // Until the user changes something, the draft follows `operands`: the schema with their names may arrive later.
  const draft = changed ?? draftOf(start, operands)
  const change = (next: Draft) => {
    setChanged(next)
    onChange(parseDraft(next, operands).condition)
  }
  // An effect after the paint could run after newer input, and replace its condition by an older one.
  useLayoutEffect(() => {
    if (changed) onChange(parseDraft(changed, operands).condition)
  }, [operands])
  const input = parseDraft(draft, operands)
  const rows = input.condition === undefined ? undefined : rowsOf(input.condition, operands)
  return (
    <Field label={label} path={path} problem={isChecked && draft.by === 'json' ? input.fault : undefined}>
      <div class="actions">
        <Button
          isPressed={draft.by === 'rows'}
          isDisabled={draft.by === 'json' && rows === undefined}
          onPress={() => draft.by === 'json' && rows && change({ by: 'rows', rows })}
        >
          Rows
        </Button>
        <Button
          isPressed={draft.by === 'json'}
          onPress={() =>
            draft.by === 'rows' &&
            change({ by: 'json', text: input.condition === undefined ? '' : writeJson(input.condition) })
          }
        >
          JSON
        </Button>
        {draft.by === 'json' && input.condition !== undefined && rows === undefined && (
          <small class="hint">Rows cannot express this condition.</small>
        )}
      </div>
      {draft.by === 'rows' ? (
        <RowsEditor
          {...props}
          rows={draft.rows}
          faults={(isChecked && input.faults) || []}
          onRows={(next) => change({ by: 'rows', rows: next })}
        />
      ) : (
        <TextField
          label="JsonLogic"
          hint={
            'For example {">":[{"var":"temperature"},30]}. Operators: comparisons, + - * / % min max, and or ! if, in, var, missing.'
          }
          value={draft.text}
          onChange={(text) => change({ by: 'json', text })}
          rows={6}
          isCode
        />
      )}
    </Field>
  )
}

interface RowsEditorProps extends ConditionEditorProps {
  readonly rows: Rows
  readonly faults: readonly RowFault[]
  readonly onRows: (rows: Rows) => void
}

function RowsEditor({ rows: { join, rows }, onRows, operands, otherName, faults }: RowsEditorProps) {
  const list = useRef<HTMLUListElement>(null)
  const change = (place: number, row: Row) => onRows({ join, rows: rows.with(place, row) })
  return (
    <>
      {rows.length > 1 && (
        <Select
          label="Match"
          value={join}
          options={[
            { value: 'and', label: 'all rows' },
            { value: 'or', label: 'any row' },
          ]}
          onChange={(next) => onRows({ join: next, rows })}
        />
      )}
      <ul class="field-rows" ref={list}>
        {rows.map((row, place) => (
          <li key={place} class="field-row">
            <RowEditor
              row={row}
              operands={operands}
              otherName={otherName}
              problem={faults.find((fault) => fault.row === place)?.message}
              onChange={(changed) => change(place, changed)}
            />
            {rows.length > 1 && (
              <Button
                kind="quiet"
                label={`Remove row ${place + 1}`}
                onPress={() => {
                  onRows({ join, rows: rows.toSpliced(place, 1) })
                  list.current?.querySelector<HTMLElement>('.input')?.focus()
                }}
              >
                ×
              </Button>
            )}
          </li>
        ))}
      </ul>
      <div>
        <Button onPress={() => onRows({ join, rows: [...rows, newRow] })}>Add a row</Button>
      </div>
    </>
  )
}

interface RowEditorProps extends Pick<RowsEditorProps, 'operands' | 'otherName'> {
  readonly row: Row
  readonly problem: string | undefined
  readonly onChange: (row: Row) => void
}

function RowEditor({ row, operands, otherName, problem, onChange }: RowEditorProps) {
  const operand = operandOf(operands, row.name)
  const ids = comparisonsFor(operand.kind, row.comparison)
  return (
    <>
      <ChoiceField
        label="Property"
        value={row.name}
        options={operands.map(({ name, label, example }) => ({
          // The condition may name the property by its id.
          value: name === operand.name ? row.name : name,
          label: example ? `${label} · ${example}` : label,
        }))}
        problem={row.name === '' ? problem : undefined}
        onChange={(name) => onChange(withOperand(row, operandOf(operands, name)))}
        other={{ label: 'Name', placeholder: otherName }}
      />
      <Select
        label="Comparison"
        value={row.comparison}
        options={ids.map((id) => ({ value: id, label: comparisons[id].label }))}
        onChange={(comparison: ComparisonId) => onChange(withComparison(row, comparison))}
      />
      {row.values.map((value, place) => (
        <ValueField
          key={place}
          isList={row.comparison === 'oneOf'}
          operand={operand}
          label={row.comparison === 'between' ? (place === 0 ? 'More than' : 'Less than') : 'Value'}
          value={value}
          problem={row.name !== '' ? problem : undefined}
          onChange={(text) => onChange({ ...row, values: row.values.with(place, text) })}
        />
      ))}
    </>
  )
}

interface ValueFieldProps extends Pick<TextFieldProps, 'label' | 'value' | 'problem' | 'onChange'> {
  readonly isList: boolean
  readonly operand: Operand
}

function ValueField({ isList, operand: { choices, unit, kind }, ...props }: ValueFieldProps) {
  const field = { ...props, label: unit === undefined ? props.label : `${props.label} (${unit})` }
  if (isList) return <TextField {...field} hint="Separated by commas" />
  if (!choices) return <TextField {...field} inputMode={kind === 'number' ? 'decimal' : 'text'} />
  const { value } = field
  const options = [{ value: '', label: 'Choose' }, ...choices]
  const isKnown = options.some((option) => option.value === value)
  return <Select {...field} options={isKnown ? options : [...options, { value, label: value }]} />
}

function draftOf(condition: Condition | undefined, operands: readonly Operand[]): Draft {
  if (condition === undefined) return { by: 'rows', rows: { join: 'and', rows: [newRow] } }
  const rows = rowsOf(condition, operands)
  return rows ? { by: 'rows', rows } : { by: 'json', text: writeJson(condition) }
}

interface ParsedDraft {
  readonly condition?: Condition
  /** The fault of a draft in JSON. */
  readonly fault?: string
  readonly faults?: readonly RowFault[]
}

function parseDraft(draft: Draft, operands: readonly Operand[]): ParsedDraft {
  if (draft.by === 'rows') return conditionOf(draft.rows, operands)
  const read = readJson(draft.text)
  return 'value' in read ? { condition: read.value } : read
}
