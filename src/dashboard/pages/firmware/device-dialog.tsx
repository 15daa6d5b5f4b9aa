import { useState } from 'preact/hooks'
import type { KnownProject } from '#dashboard/pages/firmware/known'
import { isEnd, isGood, outcomeText, updateText } from '#dashboard/pages/firmware/update-words'
import { Button } from '#dashboard/parts/button'
import { Dialog } from '#dashboard/parts/dialog'
import { Explained } from '#dashboard/parts/explained'
import { Link, pathOf } from '#dashboard/parts/link'
import { Answered } from '#dashboard/parts/page'
import { Status } from '#dashboard/parts/status'
import { Time } from '#dashboard/parts/time'
import { say } from '#dashboard/parts/toasts'
import { useFreshFirmware } from '#dashboard/parts/use-fresh-firmware'
import { useKey } from '#dashboard/parts/use-observable'
import { client, mayI } from '#dashboard/session'
import { state } from '#dashboard/state'
import type { FirmwareEntry } from '#model/firmware'

interface DeviceDialogProps extends KnownProject {
  /** Undefined: closed. */
  readonly device: string | undefined
  readonly onClose: () => void
  readonly isElsewhere: boolean
}

/** One device: its firmware, how its update goes, and updating it now. */
export function DeviceDialog(props: DeviceDialogProps) {
  const { device, onClose } = props
  return (
    <Dialog title={device ?? ''} isOpen={device !== undefined} onClose={onClose}>
      {device !== undefined && <DeviceFirmware {...props} device={device} />}
    </Dialog>
  )
}

function DeviceFirmware({ device, pins }: DeviceDialogProps & { readonly device: string }) {
  const live = useKey(state().updates, device)
  const [outcome, setOutcome] = useState<string>()
  const fresh = useFreshFirmware(device, live)
  const pin = pins.rows?.find(({ deviceIdentifier }) => deviceIdentifier === device)
  const update = async () => {
    setOutcome(undefined)
    const call = client.call('POST /updates/:deviceIdentifier', { parameters: { deviceIdentifier: device } })
    const answer = await call
    const text = outcomeText(device, answer)
    if (!isGood(answer)) throw new Explained(text)
    setOutcome(text)
    say(text)
  }
  return (
    <>
      <p>
        <Link to={pathOf('devices', device)}>Its page</Link>
      </p>
      <Answered called={fresh}>
        {(known) => (
          <ul class="firmware-list">
            {(live?.firmwares ?? known.firmwares ?? []).map((entry) => (
              <li key={entry.index}>
                <Firmware
                  entry={entry}
                  isOutdated={known.firmwares?.find(({ index }) => index === entry.index)?.updateAvailable ?? false}
                />
              </li>
            ))}
          </ul>
        )}
      </Answered>
      {pin && (
        <p>
          It is held at <code>{pin.firmware}</code> by a pin.
        </p>
      )}
      {mayI('updates', 'update', { deviceIdentifier: device }) && (
        <div class="actions">
          <Button kind="primary" onPress={update}>
            Update {device} now
          </Button>
          {outcome !== undefined && <span role="status">{outcome}</span>}
        </div>
      )}
    </>
  )
}

function Firmware({ entry, isOutdated }: { readonly entry: FirmwareEntry; readonly isOutdated: boolean }) {
  const { firmware, hardware, index, update } = entry
  return (
    <>
      <strong>{firmware}</strong>
      {hardware !== undefined && <span class="soft"> on {hardware}</span>}
      {index > 0 && <span class="soft"> index {index}</span>}{' '}
      {isOutdated && <Status state="warning">an update is available</Status>}
      {update && (
        <div>
          <Status state={update.status}>{updateText(entry)}</Status> <Time at={update.at} />
          {update.progress !== undefined && !isEnd(update.status) && (
            <progress
              class="upload-progress"
              max={100}
              value={update.progress}
              aria-label={`Progress of ${firmware}`}
            />
          )}
          {update.message !== undefined && <p class="soft">{update.message}</p>}
        </div>
      )}
    </>
  )
}
