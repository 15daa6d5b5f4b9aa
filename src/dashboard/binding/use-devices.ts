import { useEffect, useState } from 'preact/hooks'
import { useIsComplete } from '#dashboard/components/use-observable'
import { liveState } from '#dashboard/state'
import { runAfter } from '#dashboard/timers'

/** The largest number of devices that a component reads. Further devices are left out. */
export const devicesMax = 1_000

/** The pause before rendering, so that nothing else is rendered while rows scroll past. */
const restMs = 150

/** A number that changes, after a pause, when devices begin to be read and when all of them are read. */
export function useReadings(): number {
  const { devices } = liveState()
  const [readings, setReadings] = useState(0)
  useEffect(() => {
    let cancel: (() => void) | undefined
    let wasComplete = devices.isComplete
    const unsubscribe = devices.subscribe(() => {
      if (devices.isComplete === wasComplete) return
      wasComplete = devices.isComplete
      cancel?.()
      cancel = runAfter(restMs, () => setReadings((before) => before + 1))
    })
    return () => {
      unsubscribe()
      cancel?.()
    }
  }, [devices])
  return readings
}

/**
 * Reads these devices into `state().devices`, and keeps them current while the component is shown. Returns whether they
 * were read; the component renders again when that changes.
 */
export function useDevices(identifiers: readonly string[]): boolean {
  const { devices } = liveState()
  const [read, setRead] = useState<string>()
  const key = identifiers.join('\n')
  const isComplete = useIsComplete(devices)
  useEffect(() => {
    const ends = identifiers.slice(0, devicesMax).map((identifier) => devices.subscribeKey(identifier, () => {}))
    setRead(key)
    return () => {
      for (const end of ends) end()
    }
  }, [devices, key])
  return isComplete && read === key
}
