import { useContext, useEffect, useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { problemText } from '#dashboard/components/problem-text'
import { CloseDialogContext, useLockedDialog } from '#dashboard/components/unsaved-input'
import { VirtualList } from '#dashboard/components/virtual-list'
import type { Outcome, Work } from '#dashboard/pages/fleet/bulk-changes/each-device'
import { delayed } from '#dashboard/timers'
import { countText } from '#dashboard/values/format-value'

/** The pause between renderings, because there may be hundreds of outcomes a second. */
const renderMs = 200
const rowHeightPx = 40

interface RunProps {
  readonly devices: readonly string[]
  readonly work: Work
}

/** Runs an action, and shows its progress and the outcome for each device, failed devices first. */
export function Run({ devices, work }: RunProps) {
  const close = useContext(CloseDialogContext)
  const [faults] = useState(() => new Map<string, string | undefined>())
  const [rows, setRows] = useState<readonly Outcome[]>([])
  const [running, setRunning] = useState<AbortController>()
  const show = () => {
    const all = [...faults].map(([device, fault]) => ({ device, fault }))
    setRows([...all.filter(({ fault }) => fault), ...all.filter(({ fault }) => !fault)])
  }
  const [rendering] = useState(() => delayed(renderMs, show))
  const start = async (on: readonly string[]) => {
    const stop = new AbortController()
    setRunning(stop)
    for (const device of on) faults.delete(device)
    const report = (outcomes: readonly Outcome[]) => {
      for (const { device, fault } of outcomes) faults.set(device, fault)
      rendering.start()
    }
    await work(on, report, stop.signal).catch((problem) => {
      const fault = problemText(problem)
      for (const device of on) if (!faults.has(device)) faults.set(device, fault)
    })
    show()
    setRunning(undefined)
  }
  useEffect(() => {
    void start(devices)
    return () => rendering.cancel()
  }, [])
  useEffect(() => () => running?.abort(), [running])
  const failed = rows.filter(({ fault }) => fault)
  return (
    <div class="form">
      {running && <Lock />}
      <progress aria-label="Devices" max={devices.length} value={rows.length} />
      <p role="status">
        {rows.length - failed.length} of {countText(devices.length, 'device')} done
        {failed.length > 0 && `, ${failed.length} failed`}
      </p>
      <div class="many-outcomes">
        <VirtualList
          label="Outcomes"
          rows={rows}
          rowHeight={rowHeightPx}
          rowKey={({ device }) => device}
          render={({ device, fault }) => (
            <span>
              <code>{device}</code> {fault ? <span class="problem">{fault}</span> : 'done'}
            </span>
          )}
        />
      </div>
      <div class="actions">
        {running && <Button onPress={() => running.abort()}>Stop</Button>}
        {!running && failed.length > 0 && (
          <Button kind="primary" onPress={() => void start(failed.map(({ device }) => device))}>
            Try {failed.length} failed again
          </Button>
        )}
        {!running && <Button onPress={close}>Close</Button>}
      </div>
    </div>
  )
}

/** Locks the dialog: closing it by accident would stop the remaining changes, and hide the outcomes. */
function Lock() {
  useLockedDialog()
  return null
}
