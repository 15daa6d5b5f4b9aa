import type { Caller } from '#iam/caller'
import { everything } from '#model/scope'

/** Who everybody is while identity and access management is off: may do everything in `default`. Contract 2. */
export const anonymous: Caller = {
  tenant: 'default',
  user: 'crn#user:anonymous',
  name: 'anonymous',
  roles: [],
  scope: everything,
  access: 'anonymous',
  scopeSince: -1,
  isCurrent: () => true,
  now() {
    return this
  },
}
