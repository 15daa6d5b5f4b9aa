import { isDeepStrictEqual } from 'node:util'
import { type AccountCommand, accountAddress } from '#actors/account/state'
import { rowById, tenantRow } from '#actors/directory/queries'
import { emptyDirectory, isAdministrator, putTenant, putUser } from '#actors/directory/rows'
import {
  type DirectoryCommand,
  type DirectoryCommands,
  type DirectoryState,
  type NewTenant,
  type NewUser,
  type TenantRow,
  tenantRecord,
  type UserRow,
  userRecord,
} from '#actors/directory/state'
import type { IdentityNotices } from '#actors/notice-bus'
import { type Decisions, newEditId, recordActor, recordsWithoutEntry } from '#actors/record-actor'
import { eraseSubscriber } from '#actors/subscriber/state'
import { defaultTenant } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { foldEmail, foldName } from '#model/user'
import {
  type ActorDefinition,
  answer,
  type CommandOf,
  type Decision,
  type RecordChange,
  record,
  refuse,
  type Tell,
  type Turn,
  tell,
} from '#runtime/actor'

/**
 * All users and tenants. One actor, so that names, e-mail addresses and the last administrator are checked in the turn
 * that changes them. Credentials belong to the account actors, which get a command in the same commit. The directory
 * stays in memory, because every request reads it.
 */
export function directoryActor(notices: IdentityNotices): ActorDefinition<DirectoryState, DirectoryCommand, Entry> {
  return recordActor<DirectoryState, DirectoryCommands>({
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
    decisions,
  })
}

const userPrefix = userRecord('')
const tenantPrefix = tenantRecord('')

function put(state: DirectoryState, { name, value }: RecordChange): void {
  if (name.startsWith(userPrefix)) {
    putUser(state, name.slice(userPrefix.length), (value as UserRow | null) ?? undefined)
  } else putTenant(state, name.slice(tenantPrefix.length), (value as TenantRow | null) ?? undefined)
}

/** Limited, because each tenant needs a stream, a counter and rows in memory. */
export const tenantsMax = 10_000
/** Maximum number of users that one turn removes, so that the turn is not longer than other turns. */
export const removedUsersMax = 1_000

const decisions: Decisions<DirectoryState, DirectoryCommands> = {
  /**
   * A name is reserved until all data of its previous tenant is removed. Otherwise the removal would delete data of the
   * new tenant.
   */
  add_tenant(state, { tenant, isRepeated }, { now }) {
    const existing = state.tenants.get(tenant.tenantIdentifier)
    // `existing` is possibly not stored yet. `record` without events answers after the next commit, or refuses if it
    // fails.
    if (existing && isRepeated && isSameTenant(existing, tenant)) return record([], { answer: existing })
    if (existing)
      return refuse(
        new Problem('conflict', existing.state === 'active' ? 'the tenant exists' : 'the tenant is being deleted'),
      )
    if (state.tenants.size >= tenantsMax) {
      return refuse(new Problem('conflict', `a server has at most ${tenantsMax} tenants`))
    }
    return storeTenant({ ...tenant, createdAt: now, state: 'active' })
  },

  update_tenant(state, { tenant, change }) {
    const before = tenantRow(state, tenant)
    if (!before) return refuse(new Problem('not_found'))
    return storeTenant({ ...before, ...change })
  },

  /** The tenant is unreachable at once (contract 2). The default tenant, which manages the others, cannot be deleted. */
  delete_tenant(state, { tenant }) {
    if (tenant === defaultTenant) return refuse(new Problem('conflict', `tenant ${defaultTenant} always exists`))
    const before = tenantRow(state, tenant)
    if (!before) return refuse(new Problem('not_found'))
    return storeTenant({ ...before, state: 'deleting' })
  },

  /** Removes only rows of the directory. Accounts and sessions are removed with the other data of the tenant. */
  forget_users(state, { tenant }) {
    if (state.tenants.get(tenant)?.state !== 'deleting') return refuse(new Problem('not_found'))
    const names = state.byTenant.get(tenant)
    const forgotten = (names?.after('', removedUsersMax) ?? []).flatMap((name) => state.byName.get(name) ?? [])
    return recordsWithoutEntry(
      forgotten.map((user) => ({ name: userRecord(user), value: null })),
      {
        answer: (names?.size ?? 0) - forgotten.length,
      },
    )
  },

  tenant_swept(state, { tenant }) {
    if (state.tenants.get(tenant)?.state !== 'deleting') return refuse(new Problem('not_found'))
    if (state.byTenant.has(tenant)) return refuse(new Problem('conflict', 'the tenant still has users'))
    return recordsWithoutEntry([{ name: tenantRecord(tenant), value: null }])
  },

  /** Contract 2: the name is unique in all tenants, ignoring case; the e-mail address is unique in the tenant. */
  add_user(state, { user, code }, turn) {
    const problem = userProblem(state, user)
    if (problem) return refuse(problem)
    return storeUser(newRow(user, turn, 'invited'), { tells: [tellAccount(user, { type: 'invite', code })] })
  },

  /** Contract 2, First administrator: an existing user with this name stays unchanged. */
  add_administrator(state, { user, passwordHash }, turn) {
    if (state.byName.has(foldName(user.name))) return answer(false)
    const problem = userProblem(state, user)
    if (problem) return refuse(problem)
    const tenant = tenantRow(state, user.tenant)
    const stamped: RecordChange[] =
      tenant?.createdAt === 0 ? [{ name: tenantRecord(user.tenant), value: { ...tenant, createdAt: turn.now } }] : []
    return storeUser(newRow(user, turn, 'active'), {
      records: stamped,
      tells: [tellAccount(user, { type: 'open', passwordHash })],
      answer: true,
    })
  },

  /** Contract 2. Disabling ends every session; the account does that. */
  update_user(state, update, turn) {
    const before = rowById(state, update.user)
    if (!before) return refuse(new Problem('not_found'))
    const row = updated(before, update, turn)
    if (row.email !== before.email && isEmailTaken(state, row)) return refuse(emailTaken())
    if (!isAdministrator(row) && isLastAdministrator(state, before)) return refuse(lastAdministrator())
    if (update.state === undefined || row.state === before.state) return storeUser(row)
    return storeUser(row, { tells: [tellAccount(row, { type: row.state === 'disabled' ? 'disable' : 'enable' })] })
  },

  remove_user(state, { user }) {
    const row = rowById(state, user)
    if (!row) return refuse(new Problem('not_found'))
    if (isLastAdministrator(state, row)) return refuse(lastAdministrator())
    return recordsWithoutEntry([{ name: userRecord(user), value: null }], {
      tells: [tellAccount(row, { type: 'erase' }), eraseSubscriber(row.tenant, user)],
    })
  },

  /** Only the latest edit is settled; a later edit sends its own command. */
  roles_settled(state, { user, edit, since }) {
    const row = state.users.get(user)
    if (!row || row.rolesEdit !== edit || row.rolesSince !== null) return answer(undefined)
    return recordsWithoutEntry([{ name: userRecord(user), value: { ...row, rolesSince: since } }])
  },
  activated: decideAccountChanged,
  factors_changed: decideAccountChanged,
}

function isSameTenant({ createdAt, ...row }: TenantRow, tenant: NewTenant): boolean {
  return isDeepStrictEqual(row, { ...tenant, state: 'active' })
}

function storeTenant(row: TenantRow): Decision<Entry> {
  return recordsWithoutEntry([{ name: tenantRecord(row.tenantIdentifier), value: row }], {
    answer: row,
  })
}

/** All users are in memory: 1.4 KB each with the lookup tables. Loading this many takes two thirds of a second. */
export const usersMax = 100_000

/**
 * The limit for one tenant, so that no tenant uses up the capacity of the server. The tenant `default`, which manages
 * the others, has no limit of its own.
 */
export const tenantUsersMax = 25_000

/** Updates the public data of an account. The user may have been deleted meanwhile. */
function decideAccountChanged(
  state: DirectoryState,
  { type, user, factors }: CommandOf<DirectoryCommands, 'activated' | 'factors_changed'>,
): Decision<Entry> {
  const before = state.users.get(user)
  if (!before) return answer(undefined)
  if (type === 'factors_changed') return storeUser({ ...before, factors })
  const isFirst = before.state === 'invited'
  return storeUser({ ...before, factors, hasPassword: true, state: isFirst ? 'active' : before.state })
}

function newRow(user: NewUser, turn: Turn, state: 'invited' | 'active'): UserRow {
  const { id, tenant, name, email, roles } = user
  return {
    id,
    tenant,
    name,
    email,
    roles: [...new Set(roles)],
    state,
    hasPassword: state === 'active',
    factors: [],
    createdAt: turn.now,
    // A new user has received no events yet.
    rolesSince: -1,
    rolesEdit: newEditId(turn),
  }
}

/** Enabling a user who never signed up sets them back to invited, not to active. */
function updated(before: UserRow, { email, roles, state }: DirectoryCommands['update_user'], turn: Turn): UserRow {
  const row: UserRow = {
    ...before,
    email: email === undefined ? before.email : email,
    roles: roles === undefined ? before.roles : [...new Set(roles)],
    state: state === 'active' && !before.hasPassword ? 'invited' : (state ?? before.state),
  }
  const areSame = row.roles.length === before.roles.length && row.roles.every((role) => before.roles.includes(role))
  return areSame ? row : { ...row, rolesSince: null, rolesEdit: newEditId(turn) }
}

function userProblem(state: DirectoryState, user: NewUser): Problem | undefined {
  if (!tenantRow(state, user.tenant)) return new Problem('not_found')
  if (state.byName.has(foldName(user.name))) return new Problem('conflict', 'the name is taken')
  if (isEmailTaken(state, user)) return emailTaken()
  if (state.users.size >= usersMax) return new Problem('conflict', `a server has at most ${usersMax} users`)
  const tenantUsers = state.byTenant.get(user.tenant)?.size ?? 0
  if (user.tenant !== defaultTenant && tenantUsers >= tenantUsersMax) {
    return new Problem('conflict', `a tenant has at most ${tenantUsersMax} users`)
  }
  return state.users.has(user.id) ? new Problem('conflict', 'the id is taken') : undefined
}

function isEmailTaken({ users, byEmail }: DirectoryState, { id, tenant, email }: NewUser): boolean {
  if (email === null) return false
  return [...(byEmail.get(foldEmail(email)) ?? [])].some((other) => other !== id && users.get(other)?.tenant === tenant)
}

/** Without this user, the tenant would be locked out. */
function isLastAdministrator({ administrators }: DirectoryState, row: UserRow): boolean {
  return isAdministrator(row) && administrators.get(row.tenant)?.size === 1
}

function emailTaken(): Problem {
  return new Problem('conflict', 'the email is taken')
}

function lastAdministrator(): Problem {
  return new Problem('conflict', 'the user is the last administrator')
}

function tellAccount({ tenant, id }: Pick<UserRow, 'tenant' | 'id'>, command: AccountCommand): Tell {
  return tell(accountAddress(tenant, id), command)
}

function storeUser(
  row: UserRow,
  more: {
    readonly records?: readonly RecordChange[]
    readonly tells?: readonly Tell[]
    readonly answer?: unknown
  } = {},
): Decision<Entry> {
  return recordsWithoutEntry([{ name: userRecord(row.id), value: row }, ...(more.records ?? [])], {
    tells: more.tells ?? [],
    answer: more.answer ?? row,
  })
}
