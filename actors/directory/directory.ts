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
import { rejectEntry, restoreState } from '#actors/record-only'
import type { Entry } from '#model/entry'
import type { ActorDefinition, RecordChange } from '#runtime/actor'

/**
 * All users and tenants. One actor, so that names, e-mail addresses and the last administrator are checked in the turn
 * that changes them. Credentials belong to the account actors, which are notified in the same commit. Kept awake: every
 * request reads it, and it holds the lookup tables of users.
 */
export function directoryActor(notices: IdentityNotices): ActorDefinition<DirectoryState, DirectoryCommand, Entry> {
  return {
    kind: 'directory',
    persistence: 'write_through',
    formats: {
      [userRecord('*')]: { name: 'user', version: 1, upgrades: {} },
      [tenantRecord('*')]: { name: 'tenant', version: 1, upgrades: {} },
    },
    isForgettable: () => false,
    wake: (_, records) => restoreState(emptyDirectory(), records, put),
    change: (state, change) => put(state, change as RecordChange),
    apply: rejectEntry,
    decide(state, command, turn) {
      switch (command.type) {
        case 'add_user':
          return decideAddUser(state, command, turn, notices)
        case 'add_administrator':
          return decideAddAdministrator(state, command, turn, notices)
        case 'update_user':
          return decideUpdateUser(state, command, turn, notices)
        case 'remove_user':
          return decideRemoveUser(state, command, notices)
        case 'activated':
        case 'factors_changed':
          return decideAccountChanged(state, command, notices)
        case 'roles_settled':
          return decideRolesSettled(state, command)
        case 'add_tenant':
          return decideAddTenant(state, command, turn, notices)
        case 'update_tenant':
          return decideUpdateTenant(state, command, notices)
        case 'delete_tenant':
          return decideDeleteTenant(state, command, notices)
        case 'forget_users':
          return decideForgetUsers(state, command, notices)
        case 'tenant_swept':
          return decideTenantSwept(state, command, notices)
      }
    },
  }
}

const userPrefix = userRecord('')
const tenantPrefix = tenantRecord('')

function put(state: DirectoryState, { name, value }: RecordChange): void {
  if (name.startsWith(userPrefix)) {
    putUser(state, name.slice(userPrefix.length), (value as UserRow | null) ?? undefined)
  } else putTenant(state, name.slice(tenantPrefix.length), (value as TenantRow | null) ?? undefined)
}
