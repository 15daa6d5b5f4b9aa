import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { DialogButton } from '#dashboard/components/dialog'
import { TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { isSuccess, outcomeText } from '#dashboard/pages/firmware/update-words'
import type { Plan } from '#dashboard/pages/fleet/bulk-changes/bulk-change'
import { forEachDevice } from '#dashboard/pages/fleet/bulk-changes/each-device'
import { GroupForm, type PlanFormProps, TagForm, WriteForm } from '#dashboard/pages/fleet/bulk-changes/forms'
import { Run } from '#dashboard/pages/fleet/bulk-changes/run'
import type { Selection } from '#dashboard/pages/fleet/selection'
import { client, mayUser } from '#dashboard/session'
import { countText } from '#dashboard/values/format-value'

type SelectionBarProps = Pick<Selection, 'selected' | 'onClear'>

/** The number of selected devices, and what can be done with them. */
export default function SelectionBar({ selected, onClear }: SelectionBarProps) {
  return (
    <section class="notice" aria-label="Selection">
      <span>{countText(selected.size, 'device')} selected</span>
      <div class="actions">
        {mayUser('service', 'update') && <Action title="Write" form={WriteForm} selected={selected} />}
        {mayUser('functions', 'update') && <Action title="Groups" form={GroupForm} selected={selected} />}
        {mayUser('meta', 'update') && <Action title="Tags" form={TagForm} selected={selected} />}
        {mayUser('updates', 'update') && <Action title="Update firmware" plan={updatePlan} selected={selected} />}
        {mayUser('device', 'delete') && <Action title="Delete" plan={deletePlan} selected={selected} />}
        <Button kind="quiet" onPress={onClear}>
          Clear
        </Button>
      </div>
    </section>
  )
}

const updatePlan: Plan = {
  text: 'Update the firmware of',
  work: forEachDevice(async (deviceIdentifier) => {
    const outcome = await client.call('POST /updates/:deviceIdentifier', { parameters: { deviceIdentifier } })
    return isSuccess(outcome) ? undefined : outcomeText(deviceIdentifier, outcome)
  }),
}

const deletePlan: Plan = {
  text: 'Delete',
  isDanger: true,
  work: forEachDevice(async (deviceIdentifier) => {
    await client.call('DELETE /devices/:deviceIdentifier', { parameters: { deviceIdentifier } })
    return undefined
  }),
}

interface ActionProps extends Pick<SelectionBarProps, 'selected'> {
  readonly title: string
  /** Absent: the form makes the plan. */
  readonly plan?: Plan
  readonly form?: ComponentType<PlanFormProps>
}

function Action({ title, ...steps }: ActionProps) {
  return (
    <DialogButton button={`${title}…`} title={title} kind={steps.plan?.isDanger ? 'danger' : undefined} isWide>
      <Steps {...steps} />
    </DialogButton>
  )
}

/**
 * The steps of a change: its form, a confirmation with the number of devices, and the run. It concerns the devices that
 * were selected at the start.
 */
function Steps({ plan: fixedPlan, form: PlanForm, selected }: Omit<ActionProps, 'title'>) {
  const [devices] = useState(() => [...selected].sort())
  const [plan, setPlan] = useState(fixedPlan)
  const [isConfirmed, setConfirmed] = useState(false)
  const typed = useField('')
  if (!plan) return PlanForm ? <PlanForm devices={devices} onPlan={setPlan} /> : null
  if (isConfirmed) return <Run devices={devices} work={plan.work} />
  const count = String(devices.length)
  const confirm = () => {
    setConfirmed(true)
    return false
  }
  return (
    <Form
      submit={`${plan.isDanger ? 'Delete' : 'Apply to'} ${countText(devices.length, 'device')}`}
      kind={plan.isDanger ? 'danger' : 'primary'}
      isDisabled={plan.isDanger === true && typed.value.trim() !== count}
      onSubmit={confirm}
    >
      <p>
        {plan.text} <strong>{countText(devices.length, 'device')}</strong>?
      </p>
      {plan.isDanger && (
        <>
          <p>Their values, metadata and secrets are deleted. This cannot be undone.</p>
          <TextField label={`Type ${count} to confirm`} {...typed} autocomplete="off" hasFocus />
        </>
      )}
    </Form>
  )
}
