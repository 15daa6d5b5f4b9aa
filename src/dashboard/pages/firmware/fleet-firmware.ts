import { useEffect, useMemo, useState } from 'preact/hooks'
import type { FirmwareView } from '#client/client'
import { useCall } from '#dashboard/parts/use-call'
import { client } from '#dashboard/session'
import { state } from '#dashboard/state'
import { after } from '#dashboard/world'

/** All that is known of the firmware of devices, live. Contract 6. */
export interface FleetFirmware {
  /** By device identifier. */
  readonly devices: readonly FirmwareView[]
  /** Whether the first read is through: before that nothing can be said of what is not there. */
  readonly isRead: boolean
}

/** So often at most the whole fleet is gone through, however much happens. */
const everyMs = 1_000

/** Of one project, or of all. */
export function useFleetFirmware(project?: string): FleetFirmware {
  const { updates } = state()
  const [version, setVersion] = useState(0)
  useEffect(() => {
    let isWaiting: (() => void) | undefined
    const stop = updates.subscribe(() => {
      isWaiting ??= after(everyMs, () => {
        isWaiting = undefined
        setVersion((before) => before + 1)
      })
    })
    // What came between the rendering and this.
    setVersion((before) => before + 1)
    return () => {
      stop()
      isWaiting?.()
    }
  }, [updates])
  const devices = useMemo(() => {
    const wanted = [...updates.values()].filter((device) => project === undefined || device.project === project)
    return wanted.sort((one, next) => (one.deviceIdentifier < next.deviceIdentifier ? -1 : 1))
  }, [updates, project, version])
  // The map says how much it has, not whether that is all: of none at all the server is asked.
  const any = useCall(() => client.call('GET /updates', { query: { limit: 1 } }), [])
  return { devices, isRead: updates.size > 0 || any.value?.length === 0 }
}
