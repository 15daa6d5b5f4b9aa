import { useEffect, useState } from 'preact/hooks'
import type { GroupOption } from '#dashboard/binding/binding'
import { useCall } from '#dashboard/components/use-call'
import { reachFilter } from '#dashboard/pages/administration/grants'
import { tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { client } from '#dashboard/session'
import { runAfter } from '#dashboard/timers'
import type { Grant } from '#model/scope'

const pageSize = 10_000
const typingMs = 300

/** The number of devices that a grant reaches now; undefined while it is not known. */
export function useDeviceCount(grant: Grant, groups: readonly GroupOption[] | undefined): number | undefined {
  // The page cannot read devices of another tenant.
  const filter = 'tenant' in tenantQuery() ? undefined : JSON.stringify(reachFilter(grant, groups ?? []))
  const [asked, setAsked] = useState(filter)
  useEffect(() => runAfter(typingMs, () => setAsked(filter)), [filter])
  const { value } = useCall(async () => {
    if (asked === undefined) return undefined
    let count = 0
    for await (const page of client.pages('GET /devices', { query: { filter: asked, limit: pageSize } })) {
      count += page.length
    }
    return count
  }, [asked])
  return asked === filter ? value : undefined
}
