import { hashOf, newCode } from '#access/secret-text'
import { type AccessCode, accountAddress } from '#actors/account/state'
import { rowByName, rowsAfter } from '#actors/directory/queries'
import { directoryAddress, type UpdateUser, type UserRow } from '#actors/directory/state'
import { tenantAddress } from '#actors/tenant/commands'
import { grantsOfRoles } from '#actors/tenant/roles'
import { nameOfCursor } from '#api/fields'
import * as api from '#api/users'
import type { Binding } from '#http/call'
import type { Caller } from '#model/caller'
import { formatCrn } from '#model/crn'
import { randomId } from '#model/identifier'
import { Problem } from '#model/problem'
import { isPermitted } from '#model/scope'
import type { UserEntry } from '#model/user'
import { replyToChange } from '#routes/bound-visibility'
import { mailCode } from '#routes/code-mail'
import type { RouteContext } from '#routes/context'
import { mustMatch, resourceReply } from '#routes/entity-tag'
import { listReply } from '#routes/list-reply'
import { checkMayGive, mustCover } from '#routes/roles'
import { bindForTenant, locationOf } from '#routes/target-tenant'
import type { Pages } from '#runtime/storage'

/** Contract 2: seven days. */
const codeLifetimeS = 604_800

/** Users and their codes. Contract 2. */
export function userRoutes(context: RouteContext): Binding[] {
  const { system } = context
  return [
    bindForTenant(context, api.createUser, async ({ caller, query, body }, tenant) => {
      const { name, email = null, roles, expiresIn = codeLifetimeS } = body
      const { text, code } = makeCode(context, caller, expiresIn, false)
      const user = { id: randomId((bytes) => context.world.random(bytes)), tenant, name, email, roles }
      const row = await system.askAtOnce(() => {
        checkMayGive(context, caller, tenant, roles)
        return { to: directoryAddress, command: { type: 'add_user', user, code } }
      })
      const Location = locationOf(`/iam/users/${encodeURIComponent(name)}`, query)
      const headers = { Location, 'Cache-Control': 'no-store' }
      return { status: 201, headers, json: await invitationOf(context, row as UserRow, text, code) }
    }),

    bindForTenant(context, api.listUsers, (call, tenant) => {
      const { limit, cursor } = call.query
      return listReply(context, call, {
        names: userNames(context, tenant, nameOfCursor(cursor), limit),
        isShown: () => true,
        textOf: (name) => {
          const row = rowByName(context.system.wake(directoryAddress), name)
          return row?.tenant === tenant ? textOf(row) : undefined
        },
      })
    }),

    bindForTenant(context, api.readUser, (call, tenant) =>
      resourceReply(context, call, textOf(existingUser(context, tenant, call.parameters.name))),
    ),

    bindForTenant(context, api.updateUser, async (call, tenant) => {
      const { caller, parameters } = call
      const { email, roles, state } = call.body
      const row = await system.askAtOnce(() => {
        const before = userToEdit(context, caller, tenant, parameters.name)
        if (roles) checkMayGive(context, caller, tenant, roles)
        mustMatch(call, () => textOf(before))
        const command: UpdateUser = {
          type: 'update_user',
          user: before.id,
          ...(email !== undefined && { email }),
          ...(roles !== undefined && { roles }),
          ...(state !== undefined && { state }),
        }
        return { to: directoryAddress, command }
      })
      const mayRead = isPermitted(caller.scope, 'users', 'read')
      const mayReadThere = call.query.tenant === undefined || isPermitted(caller.scope, 'tenants', 'read')
      return replyToChange(mayRead && mayReadThere, entryOf(row as UserRow), 'resourceIdentifier')
    }),

    bindForTenant(context, api.deleteUser, async (call, tenant) => {
      await system.askAtOnce(() => {
        const row = userToEdit(context, call.caller, tenant, call.parameters.name)
        mustMatch(call, () => textOf(row))
        return { to: directoryAddress, command: { type: 'remove_user', user: row.id } }
      })
      return { status: 204 }
    }),

    bindForTenant(context, api.renewUserCode, async ({ caller, parameters, body }, tenant) => {
      const { text, code } = makeCode(context, caller, codeLifetimeS, body?.resetTwoFactor ?? false)
      const row = existingUser(context, tenant, parameters.name)
      await system.askAtOnce(() => {
        const { id } = userToEdit(context, caller, tenant, parameters.name)
        return { to: accountAddress(tenant, id), command: { type: 'invite', code } }
      })
      return {
        status: 200,
        headers: { 'Cache-Control': 'no-store' },
        json: await invitationOf(context, row, text, code),
      }
    }),
  ]
}

/**
 * A user that the caller may change: one without more rights than the caller.
 *
 * @throws Problem `not_found`, `forbidden`
 */
export function userToEdit(context: RouteContext, caller: Caller, tenant: string, name: string): UserRow {
  const row = existingUser(context, tenant, name)
  mustCover(caller, grantsOfRoles(context.system.wake(tenantAddress(tenant)), row.roles))
  return row
}

/** A user of this tenant. The name is not case-sensitive. @throws Problem `not_found` if there is no such user */
export function existingUser({ system }: RouteContext, tenant: string, name: string): UserRow {
  const row = rowByName(system.wake(directoryAddress), name)
  if (row?.tenant !== tenant) throw new Problem('not_found')
  return row
}

/** Names of a tenant's users. Reads only the names of the page, and one more. */
function userNames(context: RouteContext, tenant: string, after: string, limit = Number.MAX_SAFE_INTEGER): Pages {
  let last = after
  return {
    async next(countMax) {
      const rows = rowsAfter(context.system.wake(directoryAddress), tenant, last, Math.min(countMax, limit + 1))
      last = rows.at(-1)?.name ?? last
      return rows.map(({ name }) => name)
    },
    close: async () => {},
  }
}

function makeCode(
  { world }: RouteContext,
  { tenant, user }: Caller,
  lifetimeS: number,
  resetsFactors: boolean,
): { readonly text: string; readonly code: AccessCode } {
  const text = newCode((bytes) => world.random(bytes))
  const createdBy = { tenant, user }
  return { text, code: { hash: hashOf(text), expiresAt: world.now() + lifetimeS * 1000, resetsFactors, createdBy } }
}

async function invitationOf(
  context: RouteContext,
  row: UserRow,
  code: string,
  { expiresAt }: AccessCode,
): Promise<api.Invitation> {
  const { id, name } = row
  const mailed = await mailCode(context, { row, code, expiresAt })
  const resourceIdentifier = formatCrn({ type: 'user', id })
  return { name, code, expiresAt, resourceIdentifier, ...(mailed !== undefined && { mailed }) }
}

function entryOf({ id, name, email, roles, state, factors, createdAt }: UserRow): UserEntry {
  const resourceIdentifier = formatCrn({ type: 'user', id })
  const twoFactor = [...factors]
  return {
    name,
    ...(email !== null && { email }),
    roles: [...roles],
    state,
    twoFactor,
    createdAt,
    resourceIdentifier,
  }
}

function textOf(row: UserRow): string {
  return JSON.stringify(entryOf(row))
}
