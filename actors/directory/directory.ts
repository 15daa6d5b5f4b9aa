import type { DirectoryCommand } from '#actors/directory/commands'
import { emptyDirectory, putTenant, putUser } from '#actors/directory/rows'
import { type DirectoryState, type TenantRow, tenantRecord, type UserRow, userRecord } from '#actors/directory/state'
import {
  decideAddTenant,
  decideDeleteTenant,
  decideForgetUsers,
  decideTenantSwept,
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
 * that changes them. Credentials belong to the account actors, which get a command in the same commit. Kept in memory:
 * every request reads it.
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
    decisions: {
      add_user: (state, command, turn) => decideAddUser(state, command, turn, notices),
      add_administrator: (state, command, turn) => decideAddAdministrator(state, command, turn, notices),
      update_user: (state, command, turn) => decideUpdateUser(state, command, turn, notices),
      remove_user: (state, command) => decideRemoveUser(state, command, notices),
      activated: (state, command) => decideAccountChanged(state, command, notices),
      factors_changed: (state, command) => decideAccountChanged(state, command, notices),
      roles_settled: decideRolesSettled,
      add_tenant: (state, command, turn) => decideAddTenant(state, command, turn, notices),
      update_tenant: (state, command) => decideUpdateTenant(state, command, notices),
      delete_tenant: (state, command) => decideDeleteTenant(state, command, notices),
      forget_users: (state, command) => decideForgetUsers(state, command, notices),
      tenant_swept: (state, command) => decideTenantSwept(state, command, notices),
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
