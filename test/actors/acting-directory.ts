import { directoryActor } from '#actors/directory/directory'
import { putUser } from '#actors/directory/rows'
import type { DirectoryCommand, DirectoryState, NewUser, UserRow } from '#actors/directory/state'
import type { Entry } from '#model/entry'
import type { Decision } from '#runtime/actor'
import { code } from '#test/actors/acting-account'
import { ActingActor } from '#test/actors/acting-actor'
import { RecordingNotices } from '#test/actors/recording-notices'

export class ActingDirectory extends ActingActor<DirectoryState, DirectoryCommand> {
  readonly notices: RecordingNotices

  constructor(notices = new RecordingNotices()) {
    super(directoryActor(notices), { id: 'directory' }, plainState)
    this.notices = notices
  }

  /** Invites a user of tenant `default`. The id is the name in upper case. */
  invite(name: string, more: Partial<NewUser> = {}): Decision<Entry> {
    const user = { id: name.toUpperCase(), tenant: 'default', name, email: null, roles: [], ...more }
    return this.act({ type: 'add_user', user, code: code(1) })
  }

  /** Invites and activates a user, and clears the notices. */
  add(name: string, more: Partial<NewUser> = {}): void {
    this.invite(name, more)
    this.act({ type: 'activated', user: more.id ?? name.toUpperCase(), factors: [] })
    this.notices.lines.length = 0
  }

  addTenant(tenantIdentifier: string, hosts: readonly string[] = []): Decision<Entry> {
    const tenant = { tenantIdentifier, name: tenantIdentifier, hosts, twoFactor: 'optional', basic: true } as const
    return this.act({ type: 'add_tenant', tenant })
  }

  /** Inserts invited users `u1`, `u2`, … of a tenant, as a start does from the store. */
  fill(tenant: string, count: number): void {
    const blank = { email: null, roles: [], state: 'invited', hasPassword: false, factors: [] } as const
    for (let number = 1; number <= count; number++) {
      const [id, name] = [`U${number}`, `u${number}`]
      putUser(this.state, id, { ...blank, tenant, id, name, createdAt: 0, rolesSince: -1, rolesEdit: 0 })
    }
  }

  row(id: string): UserRow {
    const row = this.state.users.get(id)
    if (!row) throw new Error(`${id} is not a user`)
    return row
  }
}

/** The state as plain values. They can be compared, although the internal runs of names depend on the insertions. */
function plainState(state: DirectoryState) {
  const byTenant = new Map([...state.byTenant].map(([tenant, names]) => [tenant, names.after('', names.size)]))
  return structuredClone({ ...state, byTenant })
}

export function directoryWith(...tenants: string[]): ActingDirectory {
  const directory = new ActingDirectory()
  for (const tenant of tenants) directory.addTenant(tenant)
  directory.notices.lines.length = 0
  return directory
}
