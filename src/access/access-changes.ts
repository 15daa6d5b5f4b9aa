import { isDeepStrictEqual } from 'node:util'
import { type Accesses, type AccessView, hasSameRights, type PublishedUser } from '#access/accesses'
import type { AuthoredRules, CredentialLinks } from '#access/options'
import type { SessionSockets } from '#access/session-sockets'
import { tenantRows } from '#actors/directory/queries'
import { type DirectoryState, directoryAddress, type TenantRow, type UserRow } from '#actors/directory/state'
import type { IdentityNotices, RuleNotices } from '#actors/notice-bus'
import type { StoredSigningKey } from '#actors/signing-keys/state'
import { tenantAddress } from '#actors/tenant/commands'
import type { KeyKind, StoredRole } from '#actors/tenant/state'
import type { Hub } from '#events/hub'
import type { Caller, SessionKey } from '#model/caller'
import type { Entry } from '#model/entry'
import type { StoredGroup } from '#model/group'
import { Problem } from '#model/problem'
import { type Scope, scopeOf } from '#model/scope'
import { closeCodes } from '#runtime/close-codes'
import type { Socket } from '#runtime/socket'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'

export interface AccessChangesParts {
  readonly world: World
  readonly system: System<Entry>
  readonly accesses: Accesses
  readonly connections: { readonly hub: Hub; readonly sockets: SessionSockets; readonly links: CredentialLinks }
  readonly rules: AuthoredRules
  readonly callerOf: (session: SessionKey) => Caller | undefined
  /** Other tenants in which rules depend on rights in this tenant. */
  readonly dependentsOf: (tenant: string) => Iterable<string>
  readonly keys: { updateKey(kid: string, stored: StoredSigningKey | undefined): void; rotateOld(): void }
  /** Called when a tenant was deleted: its data has to be removed. */
  readonly tenantEnded: (tenant: string) => void
  readonly failed: (error: unknown, where: string) => void
}

const nothing = scopeOf([])
/** The number of sockets that one task of the event loop checks. */
const socketsPerSlice = 200

/**
 * Publishes a committed change of identity to everything that checks rights, synchronously: to the published view for
 * requests, and to the hub for sockets. Connections of an ended session or key are closed. Contract 2, 4.4, 4.8.
 *
 * An edit of rights is stored in two steps. The offset from which the edit is effective is known only here, after every
 * event under the old rights was sent, so a second turn stores this offset. If `load` finds an edit without an offset,
 * it uses the last offset of the stream.
 */
export class AccessChanges implements IdentityNotices, Pick<RuleNotices, 'groupChanged'> {
  readonly #parts: AccessChangesParts
  /** Offsets that are being stored, by `settlingKey`. */
  readonly #settling = new Map<string, { readonly edit: number; readonly since: number }>()

  constructor(parts: AccessChangesParts) {
    this.#parts = parts
  }

  sessionEnded(tenant: string, session: string): void {
    this.#parts.connections.sockets.endSession({ kind: 'session', tenant, id: session }, closeCodes.sessionOver)
  }

  roleChanged(tenant: string, role: string, stored: StoredRole | undefined): void {
    const { accesses } = this.#parts
    const { hub } = this.#parts.connections
    if (!accesses.hasTenant(tenant)) return
    const since = stored?.since ?? hub.publishedTo(tenant)
    const hadSameGrants = isDeepStrictEqual(stored?.grants, accesses.grantsOf(tenant, role))
    this.#redefine(tenant, accesses.publishRole(tenant, role, stored?.grants, since))
    // If an edit left the grants unchanged, it changed the members of their groups.
    if (!hadSameGrants || stored?.since === null) this.#rightsChanged(tenant)
    if (stored?.since === null) this.#settle({ type: 'role', tenant, role, edit: stored.edit }, since)
  }

  groupChanged(tenant: string, id: string, stored: StoredGroup | undefined): void {
    this.#parts.accesses.publishGroup(tenant, id, stored)
  }

  userChanged(user: string, row: UserRow | undefined): void {
    const { accesses } = this.#parts
    const before = accesses.user(user)
    if (row?.state !== 'active' && accesses.publishUser(undefined, user) && before) this.#rightsChanged(before.tenant)
    if (!row || !accesses.hasTenant(row.tenant)) return
    const { tenant } = row
    const since = row.rolesSince ?? this.#sinceOf(tenant, row)
    const published = publishedUser(row, since)
    if (row.state === 'active' && !isKnown(published, accesses.user(user))) {
      const isChanged = accesses.publishUser(published, user)
      if (isChanged) {
        this.#move(this.#parts.connections.sockets.ofUser(tenant, user))
        this.#rightsChanged(tenant)
      }
    }
    if (row.rolesSince === null) this.#settle({ type: 'user', tenant, user, edit: row.rolesEdit }, since)
  }

  tenantChanged(tenant: string, row: TenantRow | undefined): void {
    const { accesses, tenantEnded } = this.#parts
    if (row?.state === 'active') accesses.publishTenant(tenant, true)
    else if (accesses.hasTenant(tenant)) {
      accesses.publishTenant(tenant, false)
      this.#endTenant(tenant)
    }
    if (row?.state === 'deleting') tenantEnded(tenant)
  }

  keyEnded(tenant: string, key: string, kind: KeyKind): void {
    const { sockets, links } = this.#parts.connections
    if (kind === 'provisioning_key') links.keyEnded(tenant, key)
    else {
      sockets.endSession({ kind, tenant, id: key }, closeCodes.sessionOver)
      this.#rightsChanged(tenant)
    }
  }

  signingKeyChanged(kid: string, stored: StoredSigningKey | undefined): void {
    this.#parts.keys.updateKey(kid, stored)
  }

  signingKeyIsOld(): void {
    this.#parts.keys.rotateOld()
  }

  /** Loads everything from the actors: when the server starts, and after the store was read again. */
  load(): void {
    const { system, accesses } = this.#parts
    const { hub } = this.#parts.connections
    const lastOf = (tenant: string) => hub.publishedTo(tenant)
    const view = readView(system, lastOf)
    this.#settling.clear()
    const { redefined, endedTenants } = accesses.load(view)
    for (const [tenant, changed] of redefined) this.#redefine(tenant, changed)
    for (const tenant of endedTenants) this.#endTenant(tenant)
    for (const edit of view.unsettled) this.#settle(edit, lastOf(edit.tenant))
    this.#review([...this.#parts.connections.sockets.all()])
  }

  /** Closes sockets whose session has ended, and gives the other sockets the access that their session has now. */
  #review(sockets: readonly (readonly [Socket, Caller])[]): void {
    const { world, callerOf } = this.#parts
    if (sockets.length === 0) return
    try {
      for (const [socket, caller] of sockets.slice(0, socketsPerSlice)) {
        if (!caller.session || this.#parts.connections.sockets.callerOf(socket) !== caller) continue
        const now = callerOf(caller.session)
        if (!now) this.#parts.connections.sockets.end([socket], closeCodes.sessionOver)
        else if (now.access !== caller.access) this.#move([socket])
      }
    } catch (error) {
      // Another write failed in the meantime. After the store was read again, `load` checks all sockets again.
      if (error instanceof Problem) return
      throw error
    }
    world.soon(() => this.#review(sockets.slice(socketsPerSlice)))
  }

  /**
   * Notifies the rules that depend on rights in this tenant: the rules of the tenant, and those of API keys that its
   * users made in other tenants. Closes the sockets of API keys that are suspended now.
   */
  #rightsChanged(tenant: string): void {
    const { rules, dependentsOf } = this.#parts
    for (const each of [tenant, ...dependentsOf(tenant)]) rules.accessChanged(each)
    this.#endSuspended()
  }

  /** Sockets of suspended API keys receive no more events; a later task of the event loop closes them. */
  #endSuspended(): void {
    const { callerOf } = this.#parts
    const { hub, sockets } = this.#parts.connections
    for (const socket of [...sockets.ofApiKeys()]) {
      const session = sockets.callerOf(socket)?.session
      if (!session || callerOf(session)) continue
      hub.move(socket, { access: '', scope: nothing })
      sockets.end([socket], closeCodes.sessionOver)
    }
  }

  #redefine(tenant: string, changed: ReadonlyMap<string, Scope>): void {
    if (changed.size === 0) return
    this.#parts.connections.hub.redefine(tenant, changed)
    this.#parts.connections.sockets.redefined(tenant, changed)
  }

  /** Gives each socket the access that its session has now. */
  #move(sockets: readonly Socket[]): void {
    for (const socket of sockets) {
      const session = this.#parts.connections.sockets.callerOf(socket)?.session
      const caller = session && this.#parts.callerOf(session)
      // The session is over: `sessionEnded` or `keyEnded` closes the socket.
      if (!caller) continue
      this.#parts.connections.hub.move(socket, caller)
      this.#parts.connections.sockets.move(socket, caller)
    }
  }

  #endTenant(tenant: string): void {
    this.#parts.connections.sockets.endTenant(tenant, closeCodes.sessionOver)
    this.#parts.connections.links.tenantEnded(tenant)
    this.#parts.rules.tenantEnded(tenant)
  }

  /** The offset from which an edit is effective. A second notice about the same edit gets the same offset. */
  #sinceOf(tenant: string, { id, rolesEdit }: UserRow): number {
    const settling = this.#settling.get(settlingKey({ type: 'user', tenant, user: id, edit: rolesEdit }))
    return settling?.edit === rolesEdit ? settling.since : this.#parts.connections.hub.publishedTo(tenant)
  }

  #settle(unsettled: Unsettled, since: number): void {
    const key = settlingKey(unsettled)
    const { edit } = unsettled
    if (this.#settling.get(key)?.edit === edit) return
    const settling = { edit, since }
    this.#settling.set(key, settling)
    const { system } = this.#parts
    const stored =
      unsettled.type === 'role'
        ? system.ask(tenantAddress(unsettled.tenant), { ...settling, type: 'role_settled', role: unsettled.role }, 0)
        : system.ask(directoryAddress, { ...settling, type: 'roles_settled', user: unsettled.user }, 0)
    const settled = () => {
      if (this.#settling.get(key) === settling) this.#settling.delete(key)
    }
    stored.then(settled, (error) => {
      settled()
      // After a Problem, the edit stays unsettled until the store has been read again.
      if (!(error instanceof Problem)) this.#parts.failed(error, 'storing the offset of an edit of rights')
    })
  }
}

function settlingKey(unsettled: Unsettled): string {
  return unsettled.type === 'role' ? `role/${unsettled.tenant}/${unsettled.role}` : `user/${unsettled.user}`
}

/** Compares only the fields that decide rights and mail. */
function isKnown(user: PublishedUser, known: PublishedUser | undefined): boolean {
  return hasSameRights(user, known) && known?.email === user.email
}

/** A stored edit of rights whose offset is not stored yet. */
type Unsettled =
  | { readonly type: 'role'; readonly tenant: string; readonly role: string; readonly edit: number }
  | { readonly type: 'user'; readonly tenant: string; readonly user: string; readonly edit: number }

interface ReadView extends AccessView {
  readonly unsettled: readonly Unsettled[]
}

/**
 * The view, read from the actors. An edit whose offset is unknown is effective from the last offset of the stream: a
 * client that has received less reads the full state again, sometimes without need, but never misses a change. Contract
 * 4.4.
 */
function readView(system: System<Entry>, lastOf: (tenant: string) => number): ReadView {
  const directory = system.wake(directoryAddress)
  const unsettled: Unsettled[] = []
  const tenants = tenantRows(directory).map(({ tenantIdentifier: tenant }) => {
    const { roles: storedRoles, groups } = system.wake(tenantAddress(tenant))
    const roles = [...storedRoles].map(([role, { grants, since, edit }]) => {
      if (since === null) unsettled.push({ type: 'role', tenant, role, edit })
      return { role, grants, since: since ?? lastOf(tenant) }
    })
    return { tenant, roles, groups }
  })
  const users = publishedUsers(directory, lastOf, unsettled)
  return { tenants, users, unsettled }
}

function publishedUsers(
  { users, tenants }: DirectoryState,
  lastOf: (tenant: string) => number,
  unsettled: Unsettled[],
): readonly PublishedUser[] {
  const published: PublishedUser[] = []
  for (const row of users.values()) {
    const { id, tenant, rolesSince, rolesEdit } = row
    if (tenants.get(tenant)?.state !== 'active') continue
    if (rolesSince === null) unsettled.push({ type: 'user', tenant, user: id, edit: rolesEdit })
    if (row.state === 'active') published.push(publishedUser(row, rolesSince ?? lastOf(tenant)))
  }
  return published
}

function publishedUser({ id, tenant, name, roles, email }: UserRow, rolesSince: number): PublishedUser {
  return { id, tenant, name, roles, rolesSince, email }
}
