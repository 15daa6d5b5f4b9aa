import type { Caller } from '#model/caller'
import { everything } from '#model/scope'
import { anonymousName } from '#model/user'

/** Who everybody is while identity and access management is off: may do everything in `default`. Contract 2. */
export const anonymous: Caller = {
  tenant: 'default',
  user: `crn#user:${anonymousName}`,
  name: anonymousName,
  roles: [],
  scope: everything,
  access: 'anonymous',
  scopeSince: -1,
  isCurrent: () => true,
  now() {
    return this
  },
}
