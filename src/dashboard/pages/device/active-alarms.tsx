import type { ComponentChildren } from 'preact'
import { Link, pathOf } from '#dashboard/parts/link'
import { Status } from '#dashboard/parts/status'
import { Time } from '#dashboard/parts/time'
import { useCall } from '#dashboard/parts/use-call'
import { useObservable } from '#dashboard/parts/use-observable'
import { client, mayI } from '#dashboard/session'
import { state } from '#dashboard/state'

/** Alarms that are active on the device now; nothing where none is. */
export function ActiveAlarms({ identifier }: { readonly identifier: string }): ComponentChildren {
  return mayI('alarms', 'read', { deviceIdentifier: identifier }) ? <Active identifier={identifier} /> : null
}

function Active({ identifier }: { readonly identifier: string }) {
  const { alarms } = state()
  useObservable(alarms)
  const active = [...alarms.values()].filter((status) => status.active && status.deviceIdentifier === identifier)
  // Asked again when another alarm turns active here: it may be a new one.
  const known = useCall(
    () => client.call('GET /alarms'),
    [active.map(({ resourceIdentifier }) => resourceIdentifier).join()],
  )
  if (active.length === 0) return null
  return (
    <ul class="active-alarms" aria-label="Active alarms">
      {active.map(({ resourceIdentifier, since }) => {
        const alarm = known.value?.find((each) => each.resourceIdentifier === resourceIdentifier)
        const id = resourceIdentifier.replace(/^crn#alarm:/, '')
        return (
          <li key={resourceIdentifier} class={alarm?.severity === 'critical' ? 'notice bad' : 'notice warning'}>
            <Status state={alarm?.severity ?? 'warning'}>
              <Link to={pathOf('alarms', id)}>{alarm?.name ?? id}</Link>
            </Status>
            <span>
              {alarm?.severity ?? 'alarm'}, active since <Time at={since} />
            </span>
          </li>
        )
      })}
    </ul>
  )
}
