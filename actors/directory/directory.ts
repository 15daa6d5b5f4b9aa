import type { DirectoryCommand } from '#actors/directory/commands'
import { emptyDirectory, putTenant, putUser } from '#actors/directory/rows'
import { type DirectoryState, type TenantRow, tenantRecord, type UserRow, userRecord } from '#actors/directory/state'
import {
  decideAddTenant,
  decideDeleteTenant,
  decideForgetUsers,
  decideRemoveTenant,
  decideUpdateTenant,
} from '#actors/directory/tenants'
import {
  decideAccountChanged,
  decideAddAdministrator,
  decideAddUser,
  decideRemoveUser,
  decideRolesSettled,
  decideUpdateUser,
} from '#actors/directory/users'
import type { IdentityNotices } from '#actors/notice-bus'
import { recordActor } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import type { ActorDefinition, RecordChange } from '#runtime/actor'

/**
 * All users and tenants. One actor, so that names, e-mail addresses and the last administrator are checked in the turn
 * that changes them. Credentials belong to the account actors, which get a command in the same commit. The directory
 * stays in memory, because every request reads it.
 */
export function directoryActor(notices: IdentityNotices): ActorDefinition<DirectoryState, DirectoryCommand, Entry> {
  return recordActor({
    kind: 'directory',
    records: {
      [userRecord('*')]: 'user',
      [tenantRecord('*')]: 'tenant',
    },
    isForgettable: () => false,
    empty: emptyDirectory,
    put,
    recordStored: (_, { name, value }) => {
      const stored = value ?? undefined
      if (name.startsWith(userPrefix)) notices.userChanged(name.slice(userPrefix.length), stored as UserRow | undefined)
      else notices.tenantChanged(name.slice(tenantPrefix.length), stored as TenantRow | undefined)
    },
    decisions: {
      add_user: decideAddUser,
      add_administrator: decideAddAdministrator,
      update_user: decideUpdateUser,
      remove_user: decideRemoveUser,
      activated: decideAccountChanged,
      factors_changed: decideAccountChanged,
      roles_settled: decideRolesSettled,
      add_tenant: decideAddTenant,
      update_tenant: decideUpdateTenant,
      delete_tenant: decideDeleteTenant,
      forget_users: decideForgetUsers,
      tenant_swept: decideRemoveTenant,
    },
  })
}

const userPrefix = userRecord('')
const tenantPrefix = tenantRecord('')

function put(state: DirectoryState, { name, value }: RecordChange): void {
  if (name.startsWith(userPrefix)) {
    putUser(state, name.slice(userPrefix.length), (value as UserRow | null) ?? undefined)
  } else putTenant(state, name.slice(tenantPrefix.length), (value as TenantRow | null) ?? undefined)
}
