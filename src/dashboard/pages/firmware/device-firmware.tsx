import { Button } from '#dashboard/components/button'
import { Link, pathOf } from '#dashboard/components/link'
import { Section } from '#dashboard/components/page'
import { ExplainedError } from '#dashboard/components/problem-text'
import { Badge, Status } from '#dashboard/components/status'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { useCall, usePolling } from '#dashboard/components/use-call'
import { useIsComplete, useKey } from '#dashboard/components/use-observable'
import { isFinalStatus, isSuccess, messageText, outcomeText } from '#dashboard/pages/firmware/update-status'
import { client, liveState, mayUser } from '#dashboard/session'
import type { FirmwareEntry } from '#model/firmware'

/** Other users may upload a release at any time. */
const pollMs = 5_000

/** The firmware of a device with its update, live, and a function that requests an update. §2.7 */
export function useDeviceFirmware(deviceIdentifier: string) {
  const parameters = { deviceIdentifier }
  const live = useKey(liveState().updates, deviceIdentifier)
  const isComplete = useIsComplete(liveState().updates)
  // No event reports an available update, so it is polled, and read again when the firmware changes.
  const polled = useCall(
    () => client.call('GET /updates/:deviceIdentifier', { parameters }),
    [deviceIdentifier, live?.firmwares?.map(({ firmware }) => firmware).join()],
  )
  usePolling(live && polled.refresh, pollMs)
  const firmwares = (live?.firmwares ?? polled.value?.firmwares ?? []).map((entry) => {
    const { updateAvailable } = polled.value?.firmwares?.find(({ index }) => index === entry.index) ?? entry
    return { ...entry, updateAvailable }
  })
  const list =
    firmwares.length === 0 ? (
      <p class="soft">{isComplete ? 'Unknown: the device reports its firmware when it connects.' : 'Loading…'}</p>
    ) : (
      <ul class="firmwares">
        {firmwares.map((entry) => (
          <Entry key={entry.index} entry={entry} />
        ))}
      </ul>
    )
  const update = async () => {
    const result = await client.call('POST /updates/:deviceIdentifier', { parameters })
    const text = outcomeText(deviceIdentifier, result)
    if (!isSuccess(result)) throw new ExplainedError(text)
    notify(text)
  }
  const isOutdated = firmwares.some(({ updateAvailable }) => updateAvailable)
  return { project: live?.project, list, isOutdated, update }
}

export function DeviceFirmware({ identifier }: { readonly identifier: string }) {
  const { project, list, isOutdated, update } = useDeviceFirmware(identifier)
  return (
    <Section
      title="Firmware"
      beside={project && <Link to={pathOf('firmware', project)}>{project}</Link>}
      actions={
        mayUser('updates', 'update', { deviceIdentifier: identifier }) &&
        project && (
          <Button kind={isOutdated ? 'primary' : undefined} onPress={update}>
            Update now
          </Button>
        )
      }
    >
      {list}
    </Section>
  )
}

function Entry({ entry }: { readonly entry: FirmwareEntry }) {
  const { firmware, hardware, index, updateAvailable, update } = entry
  const isRunning = update && !isFinalStatus(update.status)
  const isChecked = update?.status === 'IDLE'
  return (
    <li>
      <p>
        <strong>{firmware}</strong> {hardware && <span class="soft">for {hardware}</span>}{' '}
        {index > 0 && <Badge>no. {index}</Badge>} {updateAvailable && <Badge tone="busy">update available</Badge>}
      </p>
      {update && (
        <p>
          {isChecked ? <span class="soft">Checked</span> : <Status state={update.status} />}{' '}
          {update.firmware && <span>to {update.firmware}</span>} {!isRunning && <Time at={update.at} />}
        </p>
      )}
      {isRunning && (
        <progress
          aria-label={`Update to ${update.firmware ?? 'newer firmware'}`}
          max={100}
          {...(update.progress !== undefined && { value: update.progress })}
        />
      )}
      {update?.message && (
        <p class={isChecked || update.status === 'DONE' ? 'soft' : 'problem'}>{messageText(update.message)}</p>
      )}
    </li>
  )
}
