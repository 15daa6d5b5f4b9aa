import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import type { Names } from '#dashboard/binding/binding'
import { ServiceField } from '#dashboard/binding/binding-fields'
import { useTarget } from '#dashboard/binding/known-names'
import { propertyOptions } from '#dashboard/binding/target'
import { Checkbox, ChoiceField, NumberField, Select, TextField } from '#dashboard/components/fields'
import { Link, pathOf } from '#dashboard/components/link'
import { ConditionEditor } from '#dashboard/conditions/condition-editor'
import { literalOf, operandsOf, runOperands } from '#dashboard/conditions/rows'
import type { Draft, DraftNode, To } from '#dashboard/pages/functions/graph-draft'

export interface NodeProps {
  readonly node: DraftNode
  readonly draft: Draft
  readonly onDraft: (draft: Draft) => void
  readonly names: Names
  /** The devices of the function; undefined: all. */
  readonly devices: readonly string[] | undefined
  readonly templates: readonly string[] | undefined
  readonly faults: readonly string[]
  readonly isChecked: boolean
}

interface NodeFieldsProps extends NodeProps {
  readonly onNode: (node: DraftNode) => void
}

type PropsOf<K extends DraftNode['kind']> = Omit<NodeFieldsProps, 'node'> & {
  readonly node: Extract<DraftNode, { kind: K }>
}

/** The fields of a node, by kind. Contract 5.4. */
export function NodeFields(props: NodeFieldsProps) {
  const Fields = fieldsOf[props.node.kind] as ComponentType<NodeFieldsProps>
  return <Fields {...props} />
}

function PropertyFields({ node, onNode, names, devices }: PropsOf<'property'>) {
  const { serviceIdentifier: service, propId, to } = node
  const schema = names.schemas.get(service)
  const { sample, warning } = useTarget({ service, propId: propId === '' ? undefined : Number(propId), devices })
  const { kind = 'unknown', choices } = operandsOf(schema).find(({ id }) => id === propId) ?? {}
  const isSwitch = kind === 'switch'
  const values = isSwitch ? switchValues : choices
  const [text, setText] = useState(to === undefined ? '' : String(to))
  const setValue = (next: string) => {
    setText(next)
    onNode(withTo(node, literalOf(next, isSwitch ? 'unknown' : kind) ?? ''))
  }
  return (
    <>
      <ServiceField
        value={service}
        onChange={(next) => onNode({ ...node, serviceIdentifier: next })}
        warning={warning}
      />
      <ChoiceField
        label="Property"
        value={propId}
        options={propertyOptions(schema, sample)}
        onChange={(next) => onNode({ ...withTo(node), propId: next })}
        other={{ label: 'Identifier of the property', placeholder: service ? '0x2000' : 'Choose a service first' }}
      />
      <Select
        label="Trigger"
        value={to === undefined ? 'any' : 'one'}
        options={[
          { value: 'any', label: 'at any change' },
          { value: 'one', label: 'when it changes to one value' },
        ]}
        onChange={(which) => (which === 'any' ? onNode(withTo(node)) : setValue(values?.[0]?.value ?? text))}
      />
      {to !== undefined && values && <Select label="Value" value={String(to)} options={values} onChange={setValue} />}
      {to !== undefined && !values && (
        <TextField
          label="Value"
          value={text}
          onChange={setValue}
          hint={text === '' ? 'Empty: triggers when the text becomes empty.' : undefined}
        />
      )}
    </>
  )
}

const switchValues = [
  { value: 'true', label: 'on' },
  { value: 'false', label: 'off' },
]

function AlarmFields({ node, onNode, names }: PropsOf<'alarm'>) {
  const options = [...names.alarms].map(([value, label]) => ({ value, label }))
  const isKnown = node.alarmId === '' || names.alarms.has(node.alarmId)
  return (
    <>
      {options.length === 0 && (
        <p class="hint">
          There are no alarms that you may read: <Link to="/alarms">create one first</Link>.
        </p>
      )}
      <Select
        label="Alarm"
        value={node.alarmId}
        options={[
          { value: '', label: 'Choose' },
          ...options,
          ...(isKnown ? [] : [{ value: node.alarmId, label: `${node.alarmId} (deleted, or not permitted)` }]),
        ]}
        onChange={(alarmId) => onNode({ ...node, alarmId })}
      />
      <StateField
        {...{ node, onNode }}
        texts={{ active: 'when it becomes active', inactive: 'when it becomes inactive', '': 'at both changes' }}
      />
    </>
  )
}

const statusTexts = {
  offline: 'when it becomes offline',
  online: 'when it becomes online',
  idle: 'when it stops answering (idle)',
  '': 'at any of these',
}

interface StateFieldProps extends Pick<NodeFieldsProps, 'onNode'> {
  readonly node: Extract<DraftNode, { kind: 'alarm' | 'status' }>
  /** By the state that triggers; the empty text is any. */
  readonly texts: Readonly<Record<string, string>>
}

function StateField({ node, onNode, texts }: StateFieldProps) {
  return (
    <Select
      label="Trigger"
      value={String(node.to ?? '')}
      options={Object.entries(texts).map(([value, label]) => ({ value, label }))}
      onChange={(to) => onNode(withTo(node, to || undefined))}
    />
  )
}

function ConditionFields({ node, onNode, isChecked }: PropsOf<'condition'>) {
  return (
    <ConditionEditor
      label="Continues only if"
      start={node.logic}
      operands={runOperands}
      otherName="meta.site"
      onChange={(logic) => onNode({ ...node, logic })}
      isChecked={isChecked}
    />
  )
}

const units = [
  { value: '1', label: 'seconds' },
  { value: '60', label: 'minutes' },
  { value: '3600', label: 'hours' },
  { value: '86400', label: 'days' },
] as const

type Unit = (typeof units)[number]['value']

function ThrottleFields({ node, onNode }: PropsOf<'throttle'>) {
  const { seconds } = node
  const [unit, setUnit] = useState<Unit>(
    () => units.findLast(({ value }) => seconds !== undefined && seconds % Number(value) === 0)?.value ?? '1',
  )
  const amount = seconds === undefined ? undefined : seconds / Number(unit)
  const set = (next: number | undefined, by: Unit) =>
    onNode({ ...node, seconds: next === undefined ? undefined : Math.round(next * Number(by)) })
  return (
    <div class="field-row">
      <NumberField label="At most once every" value={amount} onChange={(next) => set(next, unit)} min={0} />
      <Select
        label="Unit"
        value={unit}
        options={units}
        onChange={(by) => {
          setUnit(by)
          set(amount, by)
        }}
      />
    </div>
  )
}

function EmailFields({ node, onNode, templates }: PropsOf<'email'>) {
  const { template } = node
  const isMissing = template !== '' && templates !== undefined && !templates.includes(template)
  const path = pathOf('functions', 'templates', template)
  return (
    <ChoiceField
      label="Template"
      hint={
        template === '' ? (
          'The text of the mail.'
        ) : isMissing ? (
          <>
            This template does not exist, so no mail would be sent. <Link to={path}>Create it</Link>
          </>
        ) : (
          <Link to={path}>Open template</Link>
        )
      }
      value={template}
      options={(templates ?? []).map((name) => ({ value: name, label: name }))}
      onChange={(next) => onNode({ ...node, template: next })}
      other={{ label: 'Name of the template', placeholder: 'too-hot' }}
      maxLength={64}
    />
  )
}

function WebhookFields({ node, onNode }: PropsOf<'webhook'>) {
  const { enabled, ...enabledNode } = node
  return (
    <>
      <TextField
        label="URL"
        hint="Saving shows the secret of a new webhook once."
        value={node.url}
        onChange={(url) => onNode({ ...node, url })}
        placeholder="https://example.com/hook"
        maxLength={2_048}
        isCode
      />
      {enabled === false && (
        <Checkbox
          label="Enabled"
          hint="The receiver answered 410: nothing is sent until you enable it."
          value={false}
          onChange={() => onNode(enabledNode)}
        />
      )}
    </>
  )
}

function withTo<N extends { readonly to?: To }>(node: N, to?: To): N {
  const { to: _, ...rest } = node
  return (to === undefined ? rest : { ...rest, to }) as N
}

const fieldsOf: { readonly [Kind in DraftNode['kind']]: ComponentType<PropsOf<Kind>> } = {
  property: PropertyFields,
  alarm: AlarmFields,
  status: ({ node, onNode }) => <StateField {...{ node, onNode }} texts={statusTexts} />,
  condition: ConditionFields,
  throttle: ThrottleFields,
  email: EmailFields,
  webhook: WebhookFields,
}
