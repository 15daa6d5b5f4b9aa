import type { DirectoryCommand } from '#actors/directory/commands'
import type { DirectoryState } from '#actors/directory/state'
import { defaultTenant } from '#actors/tenant/address'
import type { ActorAddress } from '#runtime/actor'

/** There is one directory, for all tenants. */
export const directoryAddress: ActorAddress<DirectoryState, DirectoryCommand> = {
  kind: 'directory',
  tenant: defaultTenant,
  id: 'directory',
}
