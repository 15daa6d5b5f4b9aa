import { hashOf, newCode } from '#access/secret-text'
import { type AccessCode, accountAddress } from '#actors/account/state'
import { rowByName, rowsAfter } from '#actors/directory/queries'
import { type DirectoryCommand, directoryAddress, type UserRow } from '#actors/directory/state'
import { tenantAddress } from '#actors/tenant/commands'
import { grantsOfRoles } from '#actors/tenant/roles'
import { nameOfCursor } from '#api/fields'
import * as api from '#api/users'
import type { Binding } from '#http/call'
import type { Caller } from '#model/caller'
import { formatCrn } from '#model/crn'
import { randomId } from '#model/identifier'
import { isMailable } from '#model/mail-address'
import { Problem } from '#model/problem'
import { isPermitted } from '#model/scope'
import type { UserEntry } from '#model/user'
import { mailOf } from '#notifications/mail'
import { replyToChange } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { listReply, mustMatch, resourceReply } from '#routes/replies'
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
        const command: DirectoryCommand = {
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

/** How long an answer waits for the mail server. */
const mailAnswerMsMax = 10_000

/** A code for a user: an invitation, or a way to a new password. */
interface MailedCode {
  readonly row: UserRow
  readonly code: string
  /** Unix ms. */
  readonly expiresAt: number
}

/**
 * Mails a link with the code to the user, once. Resolves to whether the mail server accepted the mail in time. If not,
 * the server may still accept it later. Undefined if no mail is sent: there is no mail server, no `PUBLIC_URL`, or no
 * address that can receive mail. In each case, the answer to the caller contains the code.
 */
async function mailCode(context: RouteContext, { row, code, expiresAt }: MailedCode): Promise<boolean | undefined> {
  const { world, notifications } = context
  const { mail } = notifications
  const base = publicUrlFor(context, row)
  if (mail.kind !== 'smtp' || base === undefined || row.email === null || !isMailable(row.email)) return undefined
  const message = mailOf({
    mail,
    to: row.email,
    // Each code is mailed once.
    seed: `code\n${row.id}\n${code}`,
    date: world.now(),
    text: row.hasPassword
      ? reset(row.name, linkOf(base, row.name, code), expiresAt)
      : invitation(row.name, linkOf(base, row.name, code), expiresAt),
  })
  return new Promise((resolve) => {
    const cancel = world.after(mailAnswerMsMax, () => resolve(false))
    const settle = (isSent: boolean) => {
      cancel()
      resolve(isSent)
    }
    mail.send(message).then(
      () => settle(true),
      () => settle(false),
    )
  })
}

/** The first public URL at which the user's tenant may sign in. */
function publicUrlFor(
  { system, notifications: { publicUrls } }: RouteContext,
  { tenant }: UserRow,
): string | undefined {
  const hosts = system.wake(directoryAddress).tenants.get(tenant)?.hosts ?? []
  const isTenants = (url: string) => hosts.includes(new URL(url).host) || hosts.includes(new URL(url).hostname)
  return hosts.length === 0 ? publicUrls[0] : publicUrls.find(isTenants)
}

/** The dashboard's page for the code. The part after `#` reaches no server and no log. */
function linkOf(base: string, name: string, code: string): string {
  return `${base.replace(/\/$/, '')}/#/sign-up/${encodeURIComponent(name)}/${code}`
}

function invitation(name: string, link: string, expiresAt: number) {
  return {
    subject: 'Your invitation',
    text: `Hello ${name},\n\nyou are invited to Device Data Backend. Choose a password with this link:\n\n${link}\n\n${validity(expiresAt)}`,
  }
}

function reset(name: string, link: string, expiresAt: number) {
  return {
    subject: 'Choose a new password',
    text: `Hello ${name},\n\nan administrator created this link for you to choose a new password:\n\n${link}\n\nYour present password works until you choose another one. ${validity(expiresAt)}`,
  }
}

function validity(expiresAt: number): string {
  return `The link works once, until ${new Date(expiresAt).toUTCString()}. If you did not expect this mail, ignore it.\n`
}
