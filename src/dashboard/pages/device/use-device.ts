import { useMemo, useRef } from 'preact/hooks'
import type { DeviceView } from '#client/client'
import { useIsComplete, useObservable } from '#dashboard/parts/use-observable'
import { state } from '#dashboard/state'

/**
 * What is known of a device. Where all that was known was put away, as when a session ends, it is what it was before until
 * everything was read anew: what is filled in below it stays.
 */
export function useDevice(identifier: string): DeviceView | undefined {
  const { devices } = state()
  const device = useObservable(useMemo(() => state().device(identifier), [identifier]))
  useIsComplete(devices)
  const known = useRef<DeviceView>()
  const isReadAnew = useRef(false)
  if (devices.isComplete) isReadAnew.current = false
  else if (!device && known.current) isReadAnew.current = true
  if (!isReadAnew.current) known.current = device
  return known.current
}
