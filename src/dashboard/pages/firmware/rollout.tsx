import { type GroupOption, groupOf, idOf } from '#dashboard/binding/binding'
import { useGroups } from '#dashboard/binding/known-names'
import { apiCommand } from '#dashboard/commands'
import { Button } from '#dashboard/components/button'
import { ConcurrentEdit, type Edit } from '#dashboard/components/concurrent-edit'
import { ConfirmButton, DialogButton } from '#dashboard/components/dialog'
import { Checkbox, Checkboxes, Field, NumberField, TextField, useFields } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { versionProblem } from '#dashboard/components/names'
import { CallResult, Empty, Facts, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { Status } from '#dashboard/components/status'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { VersionField } from '#dashboard/pages/firmware/pins'
import {
  mayForAll,
  mayForGroups,
  type ProjectData,
  readRollout,
  rolloutSettings,
  versionsOf,
} from '#dashboard/pages/firmware/project-data'
import { rolloutParts } from '#dashboard/pages/firmware/update-status'
import { client } from '#dashboard/session'
import { countText } from '#dashboard/values/format-value'
import type { RolloutBody, RolloutEntry } from '#model/rollout'
import type { Action } from '#model/scope'

/** The rollout of a project: its version, and its share of the devices. Contract 6. */

export function Rollout(data: ProjectData) {
  const { project, releases, rollout } = data
  // Users who may not read groups see the ids of groups.
  const groups = useGroups() ?? []
  const current = rollout.value
  const may = (action: Action) => mayForGroups(action, current?.groups, groups)
  const putTitle = current ? 'Change rollout' : 'New rollout'
  // A new rollout may have any group for whose members the user may create updates.
  const mayPut = current
    ? may('update')
    : mayForAll('create') || groups.some((group) => mayForGroups('create', [idOf(group.resourceIdentifier)], groups))
  return (
    <Section
      title="Rollout"
      beside={current && <Status state={current.state} tone={current.state === 'stopped' ? 'bad' : undefined} />}
      actions={
        <>
          {current && may('update') && <PauseButton project={project} rollout={current} onChanged={rollout.refresh} />}
          {mayPut && current !== undefined && (
            <DialogButton kind={current ? undefined : 'primary'} button={putTitle} title={putTitle}>
              <ConcurrentEdit current={current} subject="this rollout" edited={rolloutSettings} isAlwaysDirty>
                {({ initial, check }) => <RolloutForm {...{ data, groups, check }} before={initial ?? undefined} />}
              </ConcurrentEdit>
            </DialogButton>
          )}
          {current && may('delete') && (
            <ConfirmButton
              button="End rollout…"
              buttonKind="danger"
              title={`End the rollout of ${project}?`}
              confirm="End rollout"
              onConfirm={() => {
                const call = client.call('DELETE /updates/projects/:project/rollout', { parameters: { project } })
                return withExplanation(call, { 403: forbidden })
              }}
              done={`The rollout of ${project} has ended`}
              onDone={rollout.refresh}
            >
              <p>
                Its counts are deleted. From then on{' '}
                <strong>every device of {project} without a pin that connects is updated to the newest release</strong>.
                To stop updates, pause the rollout instead.
              </p>
            </ConfirmButton>
          )}
        </>
      }
    >
      <CallResult call={rollout}>
        {(entry) =>
          entry ? (
            <RolloutDetails rollout={entry} groups={groups} />
          ) : (
            <Empty
              title="No rollout"
              command={mayPut ? startCommand(project, versionsOf(releases.value)[0]) : undefined}
            >
              Without a rollout every device without a pin that connects is updated to the newest release. A rollout
              updates a part of the devices first, only in a window if you like, and stops when too many fail.
              {mayPut && ' Start one above, or in a terminal.'}
            </Empty>
          )
        }
      </CallResult>
    </Section>
  )
}

function startCommand(project: string, firmware = '1.0.0'): string {
  const body = { firmware, percent: 10, errorThresholdPercent: 20 }
  return apiCommand('-X PUT', `/updates/projects/${project}/rollout`, body)
}

const forbidden = 'The rollout includes devices that you may not update.'

interface PauseButtonProps {
  readonly project: string
  readonly rollout: RolloutEntry
  readonly onChanged: () => void
}

/** Pauses a running rollout, and resumes a paused or stopped one. Asks first if the rollout stopped after errors. */
function PauseButton({ project, rollout, onChanged }: PauseButtonProps) {
  const { state, firmware, counts, errorThresholdPercent } = rollout
  const change = (action: 'pause' | 'resume', text: string) => async () => {
    const call = client.call(`POST /updates/projects/:project/rollout/${action}`, { parameters: { project } })
    await withExplanation(call, { 403: forbidden, 404: forbidden })
    notify(`The rollout of ${firmware} is ${text}`)
    onChanged()
  }
  const pause = change('pause', 'paused; running updates continue')
  const resume = change('resume', 'resumed')
  if (state === 'running') return <Button onPress={pause}>Pause</Button>
  if (state !== 'stopped') {
    return (
      <Button kind="primary" onPress={resume}>
        Resume
      </Button>
    )
  }
  return (
    <ConfirmButton
      button="Resume"
      buttonKind="primary"
      title={`Resume the rollout of ${firmware}?`}
      confirm="Resume anyway"
      onConfirm={resume}
    >
      <p>
        On {countText(counts.failed + counts.refused, 'device')} of {project}, the update to {firmware} failed or was
        refused. The rollout continues until {errorThresholdPercent} % of the updates that finish from now on have
        failed or were refused.
      </p>
    </ConfirmButton>
  )
}

interface RolloutDetailsProps {
  readonly rollout: RolloutEntry
  readonly groups: readonly GroupOption[]
}

function RolloutDetails({ rollout, groups }: RolloutDetailsProps) {
  const { firmware, percent, state, counts, errorThresholdPercent, window, maxAttempts = 3, updatedAt } = rollout
  const parts = rolloutParts(counts)
  return (
    <>
      {state === 'stopped' && (
        <p class="notice bad" role="alert">
          The rollout has stopped: at least {errorThresholdPercent} % of the finished updates failed or were refused.
          See the devices below. Resume it, or change its version.
        </p>
      )}
      <div class="rollout-counts">
        <div class="rollout-bar" aria-hidden="true">
          {parts.map(({ name, tone, count }) => (
            <span key={name} class={tone} style={{ flexGrow: count }} />
          ))}
        </div>
        <ul>
          {parts.map(({ name, tone, count }) => (
            <li key={name}>
              <Status state={name} tone={tone}>
                <span class="number">{count}</span> {name}
              </Status>
            </li>
          ))}
        </ul>
      </div>
      <Facts
        facts={{
          Version: (
            <>
              <code>{firmware}</code> to {percent} % of {targetText(rollout, groups)}
            </>
          ),
          Window: window ? (
            <>
              for {window.minutes} minutes from each <code>{window.cron}</code> (UTC)
            </>
          ) : (
            'always open'
          ),
          Stops:
            errorThresholdPercent === undefined
              ? 'only when a user pauses it'
              : `when ${errorThresholdPercent} % of the finished updates have failed or were refused`,
          Attempts: maxAttempts === 1 ? '1' : `up to ${maxAttempts}`,
          Changed: <Time at={updatedAt} />,
        }}
      />
    </>
  )
}

function targetText({ groups }: Pick<RolloutEntry, 'groups'>, known: readonly GroupOption[]): string {
  if (!groups) return 'all devices'
  if (groups.length === 0) return 'no devices'
  const names = groups.map((id) => groupOf(id, known)?.name ?? id)
  return `the group${names.length === 1 ? '' : 's'} ${names.join(', ')}`
}

interface RolloutFormProps extends Pick<Edit<RolloutEntry | null>, 'check'> {
  readonly data: ProjectData
  readonly groups: readonly GroupOption[]
  readonly before: RolloutEntry | undefined
}

/** The suggested window: three hours from 02:00 UTC. */
const suggestedWindow = { cron: '0 2 * * *', minutes: 180 }

/** Starts a rollout, or changes it; another version starts a new rollout. */
function RolloutForm({ data, groups, before, check }: RolloutFormProps) {
  const { project, releases, rollout, devices, isComplete } = data
  const versions = versionsOf(releases.value)
  const { values, set, field } = useFields(() => ({
    firmware: before?.firmware ?? versions[0] ?? '',
    percent: (before?.percent ?? 10) as number | undefined,
    groups: before?.groups,
    errorThresholdPercent: before ? before.errorThresholdPercent : 20,
    window: before?.window,
    maxAttempts: before?.maxAttempts,
  }))
  const { firmware, percent, groups: chosen, window } = values
  const isNewFirmware = before !== undefined && before.firmware !== firmware

  const put = async () => {
    await check(() => readRollout(project))
    // Fields without a value are not sent.
    const body = values as RolloutBody
    await withExplanation(client.call('PUT /updates/projects/:project/rollout', { parameters: { project }, body }), {
      403: 'A rollout for all devices needs permission on all devices. Choose groups of devices that you may update.',
      404: 'A group was deleted, or contains devices that you may not update.',
    })
    notify(
      before && !isNewFirmware
        ? `The rollout of ${project} is saved`
        : `The rollout of ${firmware} to ${project} has started`,
    )
    rollout.refresh()
  }
  const members = chosen && new Set(chosen.flatMap((id) => groupOf(id, groups)?.devices ?? [])).size
  const target = shareText(project, percent ?? 0, members ?? (isComplete ? devices.length : undefined))
  return (
    <Form
      label="Rollout"
      submit={before && !isNewFirmware ? 'Save changes' : 'Start rollout'}
      onSubmit={put}
      isUnsaved="touched"
      isDisabled={firmware === '' || versionProblem(firmware) !== undefined || percent === undefined}
    >
      <VersionField hint="Devices with an older version receive it." versions={versions} {...field('firmware')} />
      <NumberField
        label="Share of the devices"
        hint="A larger share adds devices, and keeps those that it already included."
        {...field('percent')}
        min={0}
        max={100}
        unit="%"
        isRequired
      />
      <TargetGroups groups={groups} {...field('groups')} />
      <NumberField
        label="Stop after failures"
        hint="Failed share of the devices that have finished. If empty, failures never stop the rollout."
        {...field('errorThresholdPercent')}
        min={0}
        max={100}
        unit="%"
      />
      <Checkbox
        label="Only in a window"
        value={window !== undefined}
        onChange={(isOn) => set({ window: isOn ? suggestedWindow : undefined })}
      />
      {window && (
        <>
          <TextField
            label="Opens at (cron, UTC)"
            hint="Five or six fields: 0 2 * * * is 02:00 every night."
            path="window.cron"
            isCode
            value={window.cron}
            onChange={(cron) => set({ window: { ...window, cron } })}
            isRequired
          />
          <NumberField
            label="Duration"
            value={window.minutes}
            onChange={(minutes = 0) => set({ window: { ...window, minutes } })}
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
        {...field('maxAttempts')}
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
  readonly value: readonly string[] | undefined
  readonly onChange: (chosen: string[] | undefined) => void
}

function TargetGroups({ groups, value: chosen, onChange }: TargetGroupsProps) {
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
function shareText(project: string, percent: number, devices: number | undefined): string {
  if (devices === undefined) return `${percent} % of the devices of ${project}`
  const about = percent > 0 && percent < 100 ? 'about ' : ''
  return `${about}${Math.round((devices * percent) / 100)} of ${devices} devices of ${project}`
}
