import { defaultTenant } from '#actors/tenant/address'
import type { ActorAddress } from '#runtime/actor'

/** There is one, for all tenants. */
export const directoryAddress: ActorAddress = { kind: 'directory', tenant: defaultTenant, id: 'directory' }
