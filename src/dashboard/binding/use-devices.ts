import { useEffect, useState } from 'preact/hooks'
import { useIsComplete } from '#dashboard/components/use-observable'
import { liveState } from '#dashboard/session'
import { runAfter } from '#dashboard/timers'

/** The largest number of devices that a component reads. Further devices are left out. */
export const devicesMax = 1_000

/** The pause before rendering, so that the component does not render while the user scrolls. */
const restMs = 150

/**
 * A number that changes when the page begins to read devices, and when all of them are read. The change follows after a
 * pause.
 */
export function useReadVersion(): number {
  const { devices } = liveState()
  const [version, setVersion] = useState(0)
  useEffect(() => {
    let cancel: (() => void) | undefined
    let wasComplete = devices.isComplete
    const unsubscribe = devices.subscribe(() => {
      if (devices.isComplete === wasComplete) return
      wasComplete = devices.isComplete
      cancel?.()
      cancel = runAfter(restMs, () => setVersion((before) => before + 1))
    })
    return () => {
      unsubscribe()
      cancel?.()
    }
  }, [devices])
  return version
}

/**
 * Watches the first `devicesMax` of these devices while the component is shown, so that `liveState().devices` contains
 * them. Returns whether all watched devices of the page are read; the component renders again when this changes.
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
