import { useMemo } from 'preact/hooks'
import { idOf } from '#dashboard/binding/binding'
import { useCall } from '#dashboard/components/use-call'
import { client, mayUser } from '#dashboard/session'

/** Names of visible alarms by id; empty while loading. */
export function useAlarmNames(): ReadonlyMap<string, string> {
  const { value } = useCall(async () => (mayUser('alarms', 'read') ? client.call('GET /alarms') : []), [])
  return useMemo(
    () => new Map((value ?? []).map(({ resourceIdentifier, name }) => [idOf(resourceIdentifier), name])),
    [value],
  )
}

/** Names of templates; undefined while loading. */
export function useTemplateNames(): readonly string[] | undefined {
  const { value } = useCall(() => client.call('GET /templates'), [])
  return useMemo(() => value?.map(({ name }) => name), [value])
}
