import { type GroupOption, groupOf, idOf } from '#dashboard/binding/binding'
import { useGroups } from '#dashboard/binding/known-names'
import { apiCommand } from '#dashboard/commands'
import { Button } from '#dashboard/components/button'
import { ConcurrentEdit } from '#dashboard/components/concurrent-edit'
import { ConfirmButton, DialogButton } from '#dashboard/components/dialog'
import { CallResult, Empty, Facts, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { Status } from '#dashboard/components/status'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import {
  mayForAll,
  mayForGroups,
  type ProjectData,
  readRollout,
  rolloutSettings,
  versionsOf,
} from '#dashboard/pages/firmware/project-data'
import { RolloutForm } from '#dashboard/pages/firmware/rollout-form'
import { rolloutParts } from '#dashboard/pages/firmware/update-words'
import { client } from '#dashboard/session'
import { countText } from '#dashboard/values/format-value'
import type { RolloutCounts as Counts, RolloutEntry } from '#model/rollout'
import type { Action } from '#model/scope'

/** The rollout of a project: its version, and its share of the devices. Contract 6. */

export function Rollout({ project, releases, rollout, devices, isComplete }: ProjectData) {
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
                {({ initial, check }) => (
                  <RolloutForm
                    project={project}
                    before={initial ?? undefined}
                    check={() => check(() => readRollout(project))}
                    versions={versionsOf(releases.value)}
                    groups={groups}
                    devices={isComplete ? devices.length : undefined}
                    onDone={rollout.refresh}
                  />
                )}
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
            <NoRollout {...{ project, mayPut }} version={versionsOf(releases.value)[0]} />
          )
        }
      </CallResult>
    </Section>
  )
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

function RolloutDetails({
  rollout,
  groups,
}: {
  readonly rollout: RolloutEntry
  readonly groups: readonly GroupOption[]
}) {
  const { firmware, percent, state, errorThresholdPercent, window, maxAttempts = 3, updatedAt } = rollout
  return (
    <>
      {state === 'stopped' && (
        <p class="notice bad" role="alert">
          The rollout has stopped: at least {errorThresholdPercent} % of the finished updates failed or were refused.
          See the devices below. Resume it, or change its version.
        </p>
      )}
      <RolloutCounts counts={rollout.counts} />
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

interface NoRolloutProps {
  readonly project: string
  readonly version: string | undefined
  readonly mayPut: boolean
}

function NoRollout({ project, version = '1.0.0', mayPut }: NoRolloutProps) {
  const body = { firmware: version, percent: 10, errorThresholdPercent: 20 }
  const command = apiCommand('-X PUT', `/updates/projects/${project}/rollout`, body)
  return (
    <Empty title="No rollout" command={mayPut ? command : undefined}>
      Without a rollout every device without a pin that connects is updated to the newest release. A rollout updates a
      part of the devices first, only in a window if you like, and stops when too many fail.
      {mayPut && ' Start one above, or in a terminal.'}
    </Empty>
  )
}

/** The progress of the chosen devices: as a bar and in words. */
function RolloutCounts({ counts }: { readonly counts: Counts }) {
  const parts = rolloutParts(counts)
  return (
    <div class="rollout-counts">
      <div class="rollout-bar" aria-hidden="true">
        {parts.map(({ name, tone, count }) => (
          <span key={name} class={tone} style={{ flexGrow: count }} />
        ))}
      </div>
      <ul>
        {parts.map(({ name, tone, mark, count }) => (
          <li key={name}>
            <span class={`status ${tone}`}>
              <span class="mark" aria-hidden="true">
                {mark}
              </span>{' '}
              <span class="number">{count}</span> {name}
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}
