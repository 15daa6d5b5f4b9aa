import { useEffect, useRef, useState } from 'preact/hooks'
import { readJson, writeJson } from '#dashboard/conditions/json-text'
import { type Operand, operandNamed } from '#dashboard/conditions/operands'
import {
  type ComparisonId,
  comparisons,
  comparisonsFor,
  conditionOf,
  type Row,
  type RowFault,
  type Rows,
  rowAbout,
  rowsOf,
  withComparison,
} from '#dashboard/conditions/rows'
import { Button } from '#dashboard/parts/button'
import { ChoiceField } from '#dashboard/parts/choice-field'
import { Field, Select, TextField } from '#dashboard/parts/fields'
import type { Condition } from '#model/condition'
import '#dashboard/conditions/conditions.css'

export interface ConditionEditorProps {
  readonly label: string
  /** The initial condition; later input is reported only by `onChange`. */
  readonly start: Condition | undefined
  /** A new list only when its content changes. */
  readonly operands: readonly Operand[]
  /** An example of a name that is not among the operands. */
  readonly otherName: string
  /** Undefined while the input is invalid. */
  readonly onChange: (condition: Condition | undefined) => void
  readonly problem?: string | undefined
  /** Shows faults at their fields, after an attempt to save. */
  readonly isChecked: boolean
}

type Way = { readonly by: 'rows'; readonly rows: Rows } | { readonly by: 'json'; readonly text: string }

const newRow: Row = { name: '', comparison: 'above', values: [''] }

/** Edits a condition as rows, or as JSON if rows cannot express it. Contract 5.2. */
export function ConditionEditor(props: ConditionEditorProps) {
  const { label, start, operands, onChange, problem, isChecked } = props
  const [touched, setTouched] = useState<Way | undefined>(undefined)
  // The names are better known once the schema has arrived.
  const way = touched ?? wayOf(start, operands)
  const go = (next: Way) => {
    setTouched(next)
    onChange(serverErrorOf(next, operands).condition)
  }
  useEffect(() => {
    if (touched) onChange(serverErrorOf(touched, operands).condition)
  }, [operands])
  const said = serverErrorOf(way, operands)
  const rows = said.condition === undefined ? undefined : rowsOf(said.condition, operands)
  return (
    <Field label={label} problem={problem ?? (isChecked && way.by === 'json' ? said.fault : undefined)}>
      <div class="condition-ways">
        <Button
          isPressed={way.by === 'rows'}
          isDisabled={way.by === 'json' && rows === undefined}
          onPress={() => way.by === 'json' && rows && go({ by: 'rows', rows })}
        >
          Rows
        </Button>
        <Button
          isPressed={way.by === 'json'}
          onPress={() => way.by === 'rows' && go({ by: 'json', text: textOf(said) })}
        >
          JSON
        </Button>
        {way.by === 'json' && said.condition !== undefined && rows === undefined && (
          <small class="hint">Rows cannot express this condition.</small>
        )}
      </div>
      {way.by === 'rows' ? (
        <RowsEditor
          {...props}
          rows={way.rows}
          faults={isChecked ? said.faults : []}
          onRows={(changed) => go({ by: 'rows', rows: changed })}
        />
      ) : (
        <TextField
          label="JsonLogic"
          hint={
            'For example {">":[{"var":"temperature"},30]}. Operators: comparisons, + - * / % min max, and or ! if, in, var, missing.'
          }
          value={way.text}
          onInput={(text) => go({ by: 'json', text })}
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
          label="Which rows must be true"
          value={join}
          options={[
            { value: 'and', label: 'all of them' },
            { value: 'or', label: 'one of them' },
          ]}
          onChange={(next) => onRows({ join: next, rows })}
        />
      )}
      <ul class="condition-rows" ref={list}>
        {rows.map((row, place) => (
          <li key={place} class="condition-row">
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

interface RowEditorProps {
  readonly row: Row
  readonly operands: readonly Operand[]
  readonly otherName: string
  readonly problem: string | undefined
  readonly onChange: (row: Row) => void
}

function RowEditor({ row, operands, otherName, problem, onChange }: RowEditorProps) {
  const operand = operandNamed(operands, row.name)
  const about = (name: string) => onChange(rowAbout(row, operandNamed(operands, name)))
  const ids = comparisonsFor(operand.kind, row.comparison)
  return (
    <>
      <ChoiceField
        label="Property"
        value={row.name}
        options={operands.map(({ name, label, now }) => ({
          // The condition may name the property by its id.
          value: name === operand.name ? row.name : name,
          label: now ? `${label} · ${now}` : label,
        }))}
        problem={row.name === '' ? problem : undefined}
        onChange={about}
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
          row={row}
          operand={operand}
          label={row.comparison === 'between' ? (place === 0 ? 'More than' : 'Less than') : 'Value'}
          value={value}
          problem={row.name !== '' ? problem : undefined}
          onInput={(text) => onChange({ ...row, values: row.values.with(place, text) })}
        />
      ))}
    </>
  )
}

interface ValueFieldProps {
  readonly row: Row
  readonly operand: Operand
  readonly label: string
  readonly value: string
  readonly problem: string | undefined
  readonly onInput: (value: string) => void
}

function ValueField({ row, operand, label, value, problem, onInput }: ValueFieldProps) {
  const { choices, unit, kind } = operand
  const full = unit === undefined ? label : `${label} (${unit})`
  if (choices && row.comparison !== 'oneOf') {
    const options = [{ value: '', label: 'Choose' }, ...choices]
    const isKnown = options.some((option) => option.value === value)
    return (
      <Select
        label={full}
        value={value}
        options={isKnown ? options : [...options, { value, label: value }]}
        onChange={onInput}
        problem={problem}
      />
    )
  }
  const hint = row.comparison === 'oneOf' ? 'Separated by commas' : undefined
  return (
    <TextField
      label={full}
      hint={hint}
      value={value}
      onInput={onInput}
      inputMode={kind === 'number' && hint === undefined ? 'decimal' : 'text'}
      problem={problem}
    />
  )
}

function wayOf(condition: Condition | undefined, operands: readonly Operand[]): Way {
  if (condition === undefined) return { by: 'rows', rows: { join: 'and', rows: [newRow] } }
  const rows = rowsOf(condition, operands)
  return rows ? { by: 'rows', rows } : { by: 'json', text: writeJson(condition) }
}

interface ServerError {
  readonly condition?: Condition
  readonly fault?: string
  readonly faults: readonly RowFault[]
}

function serverErrorOf(way: Way, operands: readonly Operand[]): ServerError {
  if (way.by === 'json') {
    const read = readJson(way.text)
    return 'value' in read ? { condition: read.value, faults: [] } : { fault: read.fault, faults: [] }
  }
  const read = conditionOf(way.rows, operands)
  return 'condition' in read ? { condition: read.condition, faults: [] } : { faults: read.faults }
}

function textOf({ condition }: ServerError): string {
  return condition === undefined ? '' : writeJson(condition)
}
