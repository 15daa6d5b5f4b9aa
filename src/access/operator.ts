import { defaultTenant } from '#actors/tenant/state'
import type { Caller } from '#model/caller'
import { everything } from '#model/scope'

/**
 * The person who runs a local server: may do everything. The operator has no account, and no session that could end.
 */
export const operator: Caller = {
  tenant: defaultTenant,
  user: 'crn#user:operator',
  name: 'operator',
  roles: [],
  scope: everything,
  access: 'operator',
  scopeSince: -1,
  isCurrent: () => true,
  now() {
    return this
  },
}
