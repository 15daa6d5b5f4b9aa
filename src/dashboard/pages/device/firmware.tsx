import { useState } from 'preact/hooks'
import type { FirmwareView } from '#client/client'
import { isEnd, isGood, messageText, outcomeText } from '#dashboard/pages/firmware/update-words'
import { Button } from '#dashboard/parts/button'
import { Link, pathOf } from '#dashboard/parts/link'
import { Section } from '#dashboard/parts/page'
import { Badge, Status } from '#dashboard/parts/status'
import { Time } from '#dashboard/parts/time'
import { notify } from '#dashboard/parts/toasts'
import { useFreshFirmware } from '#dashboard/parts/use-call'
import { useIsComplete, useKey } from '#dashboard/parts/use-observable'
import { client, mayI } from '#dashboard/session'
import { state } from '#dashboard/state'

type Entry = NonNullable<FirmwareView['firmwares']>[number]

/** The firmware of the device, the status of its update, and a button to request one. §2.7 */
export function Firmware({ identifier }: { readonly identifier: string }) {
  const known = useKey(state().updates, identifier)
  const isRead = useIsComplete(state().updates)
  const [outcome, setOutcome] = useState<string | undefined>()
  const fresh = useFreshFirmware(identifier, known)
  const firmwares = (known?.firmwares ?? []).map((entry) => {
    const { updateAvailable } = fresh.value?.firmwares?.find(({ index }) => index === entry.index) ?? entry
    return { ...entry, updateAvailable }
  })
  const update = async () => {
    setOutcome(undefined)
    const result = await client.call('POST /updates/:deviceIdentifier', {
      parameters: { deviceIdentifier: identifier },
    })
    const text = outcomeText(identifier, result)
    setOutcome(text)
    notify(text, isGood(result) ? 'done' : 'failed')
  }
  const mayUpdate = mayI('updates', 'update', { deviceIdentifier: identifier })
  return (
    <Section
      title="Firmware"
      beside={known?.project && <Link to={pathOf('firmware', known.project)}>{known.project}</Link>}
      actions={
        mayUpdate &&
        known && (
          <Button
            kind={firmwares.some(({ updateAvailable }) => updateAvailable) ? 'primary' : undefined}
            onPress={update}
          >
            Update now
          </Button>
        )
      }
    >
      {firmwares.length === 0 ? (
        <p class="soft">{isRead ? 'Unknown: the device reports its firmware when it connects.' : 'Loading…'}</p>
      ) : (
        <ul class="firmwares">
          {firmwares.map((entry) => (
            <FirmwareEntry key={entry.index} entry={entry} />
          ))}
        </ul>
      )}
      {outcome && <p role="status">{outcome}</p>}
    </Section>
  )
}

function FirmwareEntry({ entry }: { readonly entry: Entry }) {
  const { firmware, hardware, index, updateAvailable, update } = entry
  const isUnderWay = update && !isEnd(update.status)
  const isIdle = update?.status === 'IDLE'
  return (
    <li>
      <p>
        <strong>{firmware}</strong> {hardware && <span class="soft">for {hardware}</span>}{' '}
        {index > 0 && <Badge>no. {index}</Badge>} {updateAvailable && <Badge tone="busy">update available</Badge>}
      </p>
      {update && (
        <p>
          {isIdle ? <span class="soft">Checked</span> : <Status state={update.status} />}{' '}
          {update.firmware && <span>to {update.firmware}</span>} {!isUnderWay && <Time at={update.at} />}
        </p>
      )}
      {isUnderWay && (
        <progress
          aria-label={`Update to ${update.firmware ?? 'newer firmware'}`}
          max={100}
          {...(update.progress !== undefined && { value: update.progress })}
        />
      )}
      {update?.message && (
        <p class={isIdle || update.status === 'DONE' ? 'soft' : 'problem'}>{messageText(update.message)}</p>
      )}
    </li>
  )
}
