import { useEffect, useState } from 'preact/hooks'
import { useIsComplete } from '#dashboard/parts/use-observable'
import { state } from '#dashboard/state'

/** The page keeps only devices that it shows. More than these are left out. */
export const devicesMax = 1_000

/**
 * Reads these devices into `state().devices`, and keeps them current while the component is shown. Returns whether they
 * were read; the component renders again when that changes.
 */
export function useDevices(identifiers: readonly string[]): boolean {
  const { devices } = state()
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
