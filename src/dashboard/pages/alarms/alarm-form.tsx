import { useMemo, useState } from 'preact/hooks'
import type { Body } from '#client/client'
import { type Binding, bindingInWords, bodyOfBinding } from '#dashboard/binding/binding'
import { BindingEditor } from '#dashboard/binding/binding-editor'
import { useGroups, useKnownDevices, useKnownServices, useSchemas } from '#dashboard/binding/known'
import { ConditionEditor } from '#dashboard/conditions/condition-editor'
import { operandsOf } from '#dashboard/conditions/operand'
import { conditionInWords } from '#dashboard/conditions/words'
import type { Alarm } from '#dashboard/pages/alarms/alarm-rows'
import { detailUnder } from '#dashboard/parts/details'
import { NumberField, Select, TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { SuggestField } from '#dashboard/parts/suggest-field'
import { Time } from '#dashboard/parts/time'
import { useDraftForm } from '#dashboard/parts/use-draft-form'
import type { Condition } from '#model/condition'

type AlarmBody = Body<'POST /alarms'>

export interface AlarmFormProps {
  /** Without one it is a new alarm. */
  readonly start?: Alarm | undefined
  readonly submit: string
  readonly onSubmit: (body: AlarmBody) => Promise<void>
  /** Shown, with nothing to change. */
  readonly isReadOnly?: boolean | undefined
  readonly isDirty?: boolean | undefined
  readonly onDirty?: (() => void) | undefined
}

interface Draft {
  readonly name: string
  readonly severity: Alarm['severity']
  readonly serviceIdentifier: string
  readonly condition: Condition | undefined
  readonly forSeconds: number | undefined
  readonly binding: Binding
}

const severities = [
  { value: 'info', label: 'info' },
  { value: 'warning', label: 'warning' },
  { value: 'critical', label: 'critical' },
] as const

export function AlarmForm({ start, submit, onSubmit, isReadOnly, isDirty, onDirty }: AlarmFormProps) {
  const [draft, setDraft] = useState<Draft>(() => draftOf(start))
  const { problem, touch, send, form } = useDraftForm({ isDirty, onDirty })
  const [isChecked, setChecked] = useState(false)
  const groups = useGroups()
  const devices = useKnownDevices()
  const services = useKnownServices()
  const schema = useSchemas().get(draft.serviceIdentifier)
  const operands = useMemo(() => operandsOf(schema), [schema])
  if (start && isReadOnly) return <AlarmFacts alarm={start} />

  const set = (change: Partial<Draft>) => {
    setDraft((before) => ({ ...before, ...change }))
    touch()
  }
  const submitAll = () => {
    setChecked(true)
    return send(async () => {
      const { binding, condition, forSeconds, ...rest } = draft
      if (condition === undefined) throw new Error('The condition is not complete yet')
      await onSubmit({ ...rest, ...bodyOfBinding(binding), condition, ...(forSeconds && { forSeconds }) })
    }, 'You may not read this service on all of these devices, so you cannot watch them.')
  }
  return (
    <Form submit={submit} onSubmit={submitAll} label={start ? 'Alarm' : 'New alarm'} {...form}>
      <TextField
        label="Name"
        value={draft.name}
        onInput={(name) => set({ name })}
        maxLength={128}
        isRequired
        placeholder="Too warm"
        problem={detailUnder(problem, 'name')}
      />
      <Select
        label="Severity"
        value={draft.severity}
        options={severities}
        onChange={(severity) => set({ severity })}
        problem={detailUnder(problem, 'severity')}
      />
      <SuggestField
        label="Service"
        hint="Whose properties are looked at."
        value={draft.serviceIdentifier}
        onInput={(serviceIdentifier) => set({ serviceIdentifier })}
        suggestions={services.map((value) => ({ value }))}
        maxLength={64}
        placeholder="climate"
        problem={detailUnder(problem, 'serviceIdentifier')}
      />
      <ConditionEditor
        label="Active where"
        start={draft.condition}
        operands={operands}
        isOpen={false}
        onChange={(condition) => set({ condition })}
        problem={detailUnder(problem, 'condition')}
        isChecked={isChecked}
      />
      <NumberField
        label="For at least"
        hint="So long it has to hold without a break; nothing, or 0: at once."
        unit="s"
        value={draft.forSeconds}
        onInput={(forSeconds) => set({ forSeconds })}
        min={0}
        max={604_800}
        step={1}
        problem={detailUnder(problem, 'forSeconds')}
      />
      <BindingEditor
        label="On which devices"
        value={draft.binding}
        onChange={(binding) => set({ binding })}
        groups={groups}
        devices={devices}
        problem={detailUnder(problem, 'devices') ?? detailUnder(problem, 'groups')}
      />
      <p class="hint">Whoever saves it is its author: it counts where its author may read the service.</p>
    </Form>
  )
}

/** For who may look and not touch. */
function AlarmFacts({ alarm }: { readonly alarm: Alarm }) {
  const schemas = useSchemas()
  const groups = useGroups() ?? []
  const { condition, serviceIdentifier, forSeconds, updatedAt } = alarm
  return (
    <dl class="facts">
      <dt>Service</dt>
      <dd>
        <code>{serviceIdentifier}</code>
      </dd>
      <dt>Active where</dt>
      <dd>{conditionInWords(condition, operandsOf(schemas.get(serviceIdentifier)))}</dd>
      <dt>For at least</dt>
      <dd>{forSeconds} s</dd>
      <dt>On</dt>
      <dd>{bindingInWords(alarm, groups)}</dd>
      <dt>Changed</dt>
      <dd>
        <Time at={updatedAt} />
      </dd>
    </dl>
  )
}

function draftOf(alarm: Alarm | undefined): Draft {
  if (!alarm) {
    return {
      name: '',
      severity: 'warning',
      serviceIdentifier: '',
      condition: undefined,
      forSeconds: undefined,
      binding: {},
    }
  }
  const { name, severity, serviceIdentifier, condition, forSeconds, devices, groups } = alarm
  const binding = { ...(devices && { devices }), ...(groups && { groups }) }
  return { name, severity, serviceIdentifier, condition, forSeconds: forSeconds || undefined, binding }
}
