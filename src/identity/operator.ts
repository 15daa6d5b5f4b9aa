import { timingSafeEqual } from 'node:crypto'
import { defaultTenant } from '#actors/tenant/address'
import type { Caller } from '#iam/caller'
import { hashOf } from '#iam/secret-text'
import { everything } from '#model/scope'

/** Who started this process for himself alone: may do everything. He has no account, and no session that could end. */
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

/** Whether a bearer's token is this operator's. Only its hash is kept. */
export function operatorCheck(token: string | undefined): (shown: string) => boolean {
  if (token === undefined) return () => false
  const hash = hashOf(token)
  return (shown) => timingSafeEqual(hashOf(shown), hash)
}
