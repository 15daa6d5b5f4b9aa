import { useState } from 'preact/hooks'
import { type GroupOption, groupOf, idOf } from '#dashboard/binding/binding'
import { Checkbox, Checkboxes, Field, NumberField, TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { versionProblem } from '#dashboard/components/names'
import { withExplanation } from '#dashboard/components/problem-text'
import { notify } from '#dashboard/components/toasts'
import { VersionField } from '#dashboard/pages/firmware/version-field'
import { client } from '#dashboard/session'
import type { RolloutBody, RolloutEntry } from '#model/rollout'

interface RolloutFormProps {
  readonly project: string
  readonly before: RolloutEntry | undefined
  /** Throws if another user has changed the rollout meanwhile. */
  readonly check: () => Promise<unknown>
  readonly versions: readonly string[]
  readonly groups: readonly GroupOption[]
  /** The number of devices of the project; undefined if not known yet. */
  readonly devices: number | undefined
  readonly onDone: () => void
}

/** The suggested window: three hours from 02:00 UTC. */
const suggestedWindow = { cron: '0 2 * * *', minutes: 180 }

/** Starts a rollout, or changes it; another version starts a new rollout. */
export function RolloutForm({ project, before, check, versions, groups, devices, onDone }: RolloutFormProps) {
  const version = useField(before?.firmware ?? versions[0] ?? '')
  const share = useField<number | undefined>(before?.percent ?? 10)
  const [chosen, setChosen] = useState(before?.groups)
  const threshold = useField<number | undefined>(before ? before.errorThresholdPercent : 20)
  const [window, setWindow] = useState(before?.window)
  const attempts = useField<number | undefined>(before?.maxAttempts)
  const { value: firmware } = version
  const { value: percent } = share
  const isNewFirmware = before !== undefined && before.firmware !== firmware

  const put = async () => {
    await check()
    const body: RolloutBody = {
      firmware,
      percent: percent ?? 0,
      ...(chosen && { groups: [...chosen] }),
      ...(threshold.value !== undefined && { errorThresholdPercent: threshold.value }),
      ...(window && { window }),
      ...(attempts.value !== undefined && { maxAttempts: attempts.value }),
    }
    await withExplanation(client.call('PUT /updates/projects/:project/rollout', { parameters: { project }, body }), {
      403: 'A rollout for all devices needs permission on all devices. Choose groups of devices that you may update.',
      404: 'A group was deleted, or contains devices that you may not update.',
    })
    notify(
      before && !isNewFirmware
        ? `The rollout of ${project} is saved`
        : `The rollout of ${firmware} to ${project} has started`,
    )
    onDone()
  }
  const members = chosen && new Set(chosen.flatMap((id) => groupOf(id, groups)?.devices ?? [])).size
  const target = targetText(project, percent ?? 0, members ?? devices)
  return (
    <Form
      label="Rollout"
      submit={before && !isNewFirmware ? 'Save changes' : 'Start rollout'}
      onSubmit={put}
      isUnsaved="touched"
      isDisabled={firmware === '' || versionProblem(firmware) !== undefined || percent === undefined}
    >
      <VersionField hint="Devices with an older version receive it." versions={versions} {...version} />
      <NumberField
        label="Share of the devices"
        hint="A larger share adds devices, and keeps those that it already included."
        {...share}
        min={0}
        max={100}
        unit="%"
        isRequired
      />
      <TargetGroups groups={groups} chosen={chosen} onChange={setChosen} />
      <NumberField
        label="Stop after failures"
        hint="Failed share of the devices that have finished. If empty, failures never stop the rollout."
        {...threshold}
        min={0}
        max={100}
        unit="%"
      />
      <Checkbox
        label="Only in a window"
        value={window !== undefined}
        onChange={(isOn) => setWindow(isOn ? suggestedWindow : undefined)}
      />
      {window && (
        <>
          <TextField
            label="Opens at (cron, UTC)"
            hint="Five or six fields: 0 2 * * * is 02:00 every night."
            path="window.cron"
            isCode
            value={window.cron}
            onChange={(cron) => setWindow({ ...window, cron })}
            isRequired
          />
          <NumberField
            label="Duration"
            value={window.minutes}
            onChange={(minutes) => setWindow({ ...window, minutes: minutes ?? 0 })}
            min={1}
            max={10_080}
            step={1}
            unit="minutes"
            isRequired
          />
        </>
      )}
      <NumberField
        label="Attempts for each device"
        hint="The pauses between them increase. If empty, 3."
        {...attempts}
        min={1}
        max={100}
        step={1}
      />
      <div class="notice">
        <p>
          Updates {target} to {firmware || 'this version'}, including devices that connect later.
        </p>
        {isNewFirmware && (
          <p>
            This rollout replaces the one of {before.firmware}, and its counts start at 0. It starts at once, even if
            the current one is paused or stopped.
          </p>
        )}
        {before && !isNewFirmware && before.state !== 'running' && (
          <p>The rollout stays {before.state} until it is resumed.</p>
        )}
      </div>
    </Form>
  )
}

interface TargetGroupsProps extends Pick<RolloutFormProps, 'groups'> {
  readonly chosen: readonly string[] | undefined
  readonly onChange: (chosen: string[] | undefined) => void
}

function TargetGroups({ groups, chosen, onChange }: TargetGroupsProps) {
  // A chosen group that was deleted or is not visible can still be removed.
  const unknown = (chosen ?? []).filter((id) => !groupOf(id, groups))
  const options = [
    ...groups.map((group) => ({ value: idOf(group.resourceIdentifier), label: group.name })),
    ...unknown.map((id) => ({ value: id, label: id })),
  ]
  if (options.length === 0) return null
  return (
    <Field label="Applies to" hint="A rollout to a group includes its current members.">
      <Checkbox label="All devices" value={chosen === undefined} onChange={(isOn) => onChange(isOn ? undefined : [])} />
      {chosen && <Checkboxes options={options} value={chosen} onChange={onChange} />}
    </Field>
  )
}

/** `about 33 of 334 devices of boiler` */
function targetText(project: string, percent: number, devices: number | undefined): string {
  if (devices === undefined) return `${percent} % of the devices of ${project}`
  const about = percent > 0 && percent < 100 ? 'about ' : ''
  return `${about}${Math.round((devices * percent) / 100)} of ${devices} devices of ${project}`
}
