import type { Caller } from '#access/caller'
import { scopeOf } from '#model/scope'

/** Who asks where nobody needs to be known: may do nothing. */
export const nobody: Caller = {
  tenant: '',
  user: '',
  name: '',
  roles: [],
  scope: scopeOf([]),
  access: '',
  scopeSince: -1,
  isCurrent: () => true,
  now() {
    return this
  },
}
