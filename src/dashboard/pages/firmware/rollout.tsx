import { useState } from 'preact/hooks'
import type { Item } from '#client/client'
import { idOf } from '#dashboard/binding/binding'
import { rolloutCommand } from '#dashboard/pages/firmware/commands'
import { bodyOf, readRollout } from '#dashboard/pages/firmware/embedded'
import { type KnownProject, mayForAll, mayForGroups, versionsOf } from '#dashboard/pages/firmware/known'
import { RolloutForm } from '#dashboard/pages/firmware/rollout-form'
import { partsOf } from '#dashboard/pages/firmware/update-words'
import { Button } from '#dashboard/parts/button'
import { Confirm, Dialog } from '#dashboard/parts/dialog'
import { Edited } from '#dashboard/parts/edited'
import { Empty } from '#dashboard/parts/empty'
import { Answered, Section } from '#dashboard/parts/page'
import { explained } from '#dashboard/parts/problem-text'
import { Status } from '#dashboard/parts/status'
import { Time } from '#dashboard/parts/time'
import { say } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'
import { client, mayI } from '#dashboard/session'
import type { RolloutCounts as Counts, RolloutEntry } from '#model/rollout'
import type { Action } from '#model/scope'

/** The rollout of a project: its version, and its share of the devices. Contract 6. */

type Group = Item<'GET /groups'>

/** The open dialog; one at a time. */
type Asked = 'put' | 'end' | undefined

export function Rollout({ project, releases, rollout, devices, isRead }: KnownProject) {
  const [asked, ask] = useState<Asked>()
  const close = () => ask(undefined)
  // Users who may not read groups see their ids.
  const called = useCall(async () => (mayI('functions', 'read') ? client.call('GET /groups') : []), [])
  const groups = called.value ?? []
  const now = rollout.value
  const may = (action: Action) => mayForGroups(action, now?.groups, groups)
  // A new rollout may target any group whose members the user may update.
  const mayPut = now
    ? may('update')
    : mayForAll('create') || groups.some((group) => mayForGroups('create', [idOf(group.resourceIdentifier)], groups))
  return (
    <Section
      title="Rollout"
      beside={now && <Status state={now.state} tone={now.state === 'stopped' ? 'bad' : undefined} />}
      actions={
        <>
          {now && may('update') && <Switch project={project} rollout={now} onSwitched={rollout.again} />}
          {mayPut && now !== undefined && (
            <Button kind={now ? undefined : 'primary'} onPress={() => ask('put')}>
              {now ? 'Change the rollout' : 'New rollout'}
            </Button>
          )}
          {now && may('delete') && (
            <Button kind="danger" onPress={() => ask('end')}>
              End it
            </Button>
          )}
        </>
      }
    >
      <Answered called={rollout}>
        {(entry) =>
          entry ? (
            <Shown rollout={entry} groups={groups} />
          ) : (
            <None project={project} version={versionsOf(releases.value)[0]} devices={devices.length} mayPut={mayPut} />
          )
        }
      </Answered>
      <Dialog title={now ? 'Change the rollout' : 'New rollout'} isOpen={asked === 'put'} onClose={close}>
        <Edited found={now ?? null} what="this rollout" filled={bodyOf} isHeld>
          {({ begun, check }) => (
            <RolloutForm
              project={project}
              before={begun ?? undefined}
              check={async () => void (await check(() => readRollout(project)))}
              versions={versionsOf(releases.value)}
              groups={groups}
              devices={isRead ? devices.length : undefined}
              onCancel={close}
              onDone={() => {
                close()
                rollout.again()
              }}
            />
          )}
        </Edited>
      </Dialog>
      <Confirm
        title={`End the rollout of ${project}?`}
        isOpen={asked === 'end'}
        onClose={close}
        confirm="End the rollout"
        onConfirm={async () => {
          const call = client.call('DELETE /updates/projects/:project/rollout', { parameters: { project } })
          await explained(call, { 403: notAll })
          say(`The rollout of ${project} has ended`)
          rollout.again()
        }}
      >
        <p>
          Its counts are forgotten, and from then on{' '}
          <strong>the newest release goes to every device of {project} that comes</strong>: {devices.length} at the
          moment. To hold everything where it is, pause it instead.
        </p>
      </Confirm>
    </Section>
  )
}

const notAll = 'It concerns devices that you may not update.'

/** Pauses a running rollout, and resumes others; a rollout that stopped after errors asks first. */
function Switch({
  project,
  rollout: { state, firmware, counts, errorThresholdPercent },
  onSwitched,
}: {
  readonly project: string
  readonly rollout: RolloutEntry
  readonly onSwitched: () => void
}) {
  const [isAsked, ask] = useState(false)
  const parameters = { project }
  const by = { 403: notAll, 404: notAll }
  const pause = async () => {
    await explained(client.call('POST /updates/projects/:project/rollout/pause', { parameters }), by)
    say(`No further device begins with ${firmware}; what is under way goes on`)
    onSwitched()
  }
  const resume = async () => {
    await explained(client.call('POST /updates/projects/:project/rollout/resume', { parameters }), by)
    say(`${firmware} goes to further devices`)
    onSwitched()
  }
  return (
    <>
      {state === 'running' ? (
        <Button onPress={pause}>Pause</Button>
      ) : (
        <Button kind="primary" onPress={state === 'stopped' ? () => ask(true) : resume}>
          Resume
        </Button>
      )}
      <Confirm
        title={`Resume the rollout of ${firmware}?`}
        isOpen={isAsked}
        onClose={() => ask(false)}
        confirm="Go on all the same"
        onConfirm={resume}
      >
        <p>
          {countText(counts.failed + counts.refused)} of {project} failed or refused {firmware}. It goes to further
          ones, until {errorThresholdPercent} % of those that finish from now on have failed.
        </p>
      </Confirm>
    </>
  )
}

function countText(devices: number): string {
  return devices === 1 ? '1 device' : `${devices} devices`
}

function Shown({ rollout, groups }: { readonly rollout: RolloutEntry; readonly groups: readonly Group[] }) {
  const { firmware, percent, state, errorThresholdPercent, window, maxAttempts = 3, updatedAt } = rollout
  return (
    <>
      {state === 'stopped' && (
        <p class="notice bad" role="alert">
          It stopped by itself: of the devices that finished, at least {errorThresholdPercent} % failed or refused. Find
          them among the devices below. Resume it, or put a better version in its place.
        </p>
      )}
      <RolloutCounts counts={rollout.counts} />
      <dl class="facts">
        <dt>Brings</dt>
        <dd>
          <code>{firmware}</code> to {percent} % of {wholeText(rollout, groups)}
        </dd>
        <dt>Begins</dt>
        <dd>
          {window ? (
            <>
              for {window.minutes} minutes from each <code>{window.cron}</code> (UTC)
            </>
          ) : (
            'at any time'
          )}
        </dd>
        <dt>Stops</dt>
        <dd>
          {errorThresholdPercent === undefined
            ? 'when somebody pauses it, however many fail'
            : `by itself, when ${errorThresholdPercent} % of those that finished failed`}
        </dd>
        <dt>Tries a device</dt>
        <dd>{maxAttempts === 1 ? 'once' : `${maxAttempts} times at most`}</dd>
        <dt>Changed</dt>
        <dd>
          <Time at={updatedAt} />
        </dd>
      </dl>
    </>
  )
}

function wholeText({ groups }: Pick<RolloutEntry, 'groups'>, known: readonly Group[]): string {
  if (!groups) return 'all devices'
  if (groups.length === 0) return 'no group, which is nobody'
  const names = groups.map(
    (id) => known.find(({ resourceIdentifier }) => resourceIdentifier.endsWith(`:${id}`))?.name ?? id,
  )
  return `the group${names.length === 1 ? '' : 's'} ${names.join(', ')}`
}

function None({
  project,
  version = '1.0.0',
  devices,
  mayPut,
}: {
  readonly project: string
  readonly version: string | undefined
  readonly devices: number
  readonly mayPut: boolean
}) {
  return (
    <Empty title="There is no rollout" command={mayPut ? rolloutCommand(project, version) : undefined}>
      Without one the newest release goes to every device that comes{devices > 0 && `: ${devices} at the moment`}. With
      one a version goes to a part of them first, in a window, and stops by itself when too many fail.
      {mayPut && ' Begin one above, or from a terminal.'}
    </Empty>
  )
}

/** The progress of the chosen devices: as a bar and in words. */
function RolloutCounts({ counts }: { readonly counts: Counts }) {
  const parts = partsOf(counts)
  const most = Math.max(
    1,
    parts.reduce((sum, { count }) => sum + count, 0),
  )
  return (
    <div class="rollout-counts">
      <div class="rollout-bar" aria-hidden="true">
        {parts.map(({ name, tone, count }) => (
          <span key={name} class={tone} style={{ flexGrow: count / most }} />
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
