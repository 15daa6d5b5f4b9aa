import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { DialogButton } from '#dashboard/components/dialog'
import { TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { isSuccess, outcomeText } from '#dashboard/pages/firmware/update-words'
import type { Plan } from '#dashboard/pages/fleet/bulk-changes/bulk-change'
import { forEachDevice } from '#dashboard/pages/fleet/bulk-changes/each-device'
import { GroupForm, type PlanFormProps, TagForm, WriteForm } from '#dashboard/pages/fleet/bulk-changes/forms'
import { Run } from '#dashboard/pages/fleet/bulk-changes/run'
import type { Selection } from '#dashboard/pages/fleet/use-selection'
import { client, mayUser } from '#dashboard/session'
import { countText } from '#dashboard/values/format-value'

export type SelectionBarProps = Pick<Selection, 'selected' | 'onClear'>

/** The number of selected devices, and what can be done with them. */
export default function SelectionBar({ selected, onClear }: SelectionBarProps) {
  return (
    <section class="notice" aria-label="Selection">
      <span>{countText(selected.size, 'device')} selected</span>
      <div class="actions">
        {mayUser('service', 'update') && (
          <Action title="Write" {...{ selected }}>
            {(props) => <WriteForm {...props} />}
          </Action>
        )}
        {mayUser('functions', 'update') && (
          <Action title="Groups" {...{ selected }}>
            {(props) => <GroupForm {...props} />}
          </Action>
        )}
        {mayUser('meta', 'update') && (
          <Action title="Tags" {...{ selected }}>
            {(props) => <TagForm {...props} />}
          </Action>
        )}
        {mayUser('updates', 'update') && <Action title="Update firmware" plan={updatePlan} {...{ selected }} />}
        {mayUser('device', 'delete') && <Action title="Delete" plan={deletePlan} {...{ selected }} />}
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
  /** Absent: the form in `children` makes the plan. */
  readonly plan?: Plan
  readonly children?: (props: PlanFormProps) => ComponentChildren
}

function Action({ title, plan, selected, children }: ActionProps) {
  return (
    <DialogButton button={`${title}…`} title={title} kind={plan?.isDanger ? 'danger' : undefined} isWide>
      {(close) => <Steps plan={plan} devices={[...selected].sort()} form={children} onClose={close} />}
    </DialogButton>
  )
}

interface StepsProps {
  readonly plan: Plan | undefined
  readonly devices: readonly string[]
  readonly form: ActionProps['children']
  readonly onClose: () => void
}

/**
 * Choosing the change, then a confirmation with the number of devices, then the run. The devices are those that were
 * selected at the start.
 */
function Steps(props: StepsProps) {
  const { form, onClose } = props
  const [devices] = useState(props.devices)
  const [plan, setPlan] = useState(props.plan)
  const [isConfirmed, setConfirmed] = useState(false)
  const [typed, setTyped] = useState('')
  if (!plan) return <>{form?.({ devices, onPlan: setPlan, onCancel: onClose })}</>
  if (isConfirmed) return <Run devices={devices} work={plan.work} onClose={onClose} />
  const count = String(devices.length)
  return (
    <Form
      submit={`${plan.isDanger ? 'Delete' : 'Apply to'} ${countText(devices.length, 'device')}`}
      kind={plan.isDanger ? 'danger' : 'primary'}
      onCancel={onClose}
      isDisabled={plan.isDanger === true && typed.trim() !== count}
      onSubmit={() => setConfirmed(true)}
    >
      <p>
        {plan.text} <strong>{countText(devices.length, 'device')}</strong>?
      </p>
      {plan.isDanger && (
        <>
          <p>Their values, metadata and secrets are deleted. This cannot be undone.</p>
          <TextField label={`Type ${count} to confirm`} value={typed} onInput={setTyped} autocomplete="off" hasFocus />
        </>
      )}
    </Form>
  )
}
