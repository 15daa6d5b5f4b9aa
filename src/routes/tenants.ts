import { tenantRow, tenantRows } from '#actors/directory/queries'
import { type DirectoryCommand, directoryAddress, type TenantRow } from '#actors/directory/state'
import * as api from '#api/tenants'
import { type Binding, bind, type Call } from '#http/call'
import { formatCrn } from '#model/crn'
import { Problem } from '#model/problem'
import { isPermitted } from '#model/scope'
import type { TenantEntry } from '#model/tenant'
import { replyToChange } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { mustMatch, resourceReply, textReply } from '#routes/replies'

/** Routes for tenants. Only callers of the tenant `default` have permissions for them. Contract 2. */
export function tenantRoutes(context: RouteContext): Binding[] {
  const { system } = context
  const tenantThere = ({ parameters }: Pick<Call<{ readonly tenantIdentifier: string }>, 'parameters'>): TenantRow => {
    const row = tenantRow(context.system.wake(directoryAddress), parameters.tenantIdentifier)
    if (!row) throw new Problem('not_found')
    return row
  }
  return [
    bind(api.listTenants, () =>
      textReply(context, JSON.stringify(tenantRows(context.system.wake(directoryAddress)).map(entryOf))),
    ),

    bind(api.createTenant, async ({ body: { tenantIdentifier, name, hosts, twoFactor, basic }, isRepeated }) => {
      const tenant = {
        tenantIdentifier,
        name,
        hosts: hosts ?? [],
        twoFactor: twoFactor ?? 'optional',
        basic: basic ?? true,
      }
      const add: DirectoryCommand = { type: 'add_tenant', tenant, isRepeated }
      const row = await system.ask(directoryAddress, add)
      const headers = { Location: `/api/v1/iam/tenants/${tenantIdentifier}` }
      return { status: 201, headers, json: entryOf(row as TenantRow) }
    }),

    bind(api.readTenant, (call) => resourceReply(context, call, textOf(tenantThere(call)))),

    bind(api.updateTenant, async (call) => {
      const { name, hosts, twoFactor, basic } = call.body
      const change = {
        ...(name !== undefined && { name }),
        ...(hosts !== undefined && { hosts }),
        ...(twoFactor !== undefined && { twoFactor }),
        ...(basic !== undefined && { basic }),
      }
      const update: DirectoryCommand = { type: 'update_tenant', tenant: call.parameters.tenantIdentifier, change }
      const row = await system.askAtOnce(() => {
        const before = tenantThere(call)
        mustMatch(call, () => textOf(before))
        return { to: directoryAddress, command: update }
      })
      const mayRead = isPermitted(call.caller.scope, 'tenants', 'read')
      return replyToChange(mayRead, entryOf(row as TenantRow), 'resourceIdentifier')
    }),

    // The data of the tenant is deleted in the background after the deletion is stored.
    bind(api.deleteTenant, async (call) => {
      const { tenantIdentifier: tenant } = call.parameters
      await system.askAtOnce(() => {
        const row = tenantThere(call)
        mustMatch(call, () => textOf(row))
        return { to: directoryAddress, command: { type: 'delete_tenant', tenant } }
      })
      return { status: 204 }
    }),
  ]
}

function entryOf({ tenantIdentifier, name, hosts, twoFactor, basic, createdAt }: TenantRow): TenantEntry {
  return {
    tenantIdentifier,
    name,
    ...(hosts.length > 0 && { hosts: [...hosts] }),
    twoFactor,
    basic,
    createdAt,
    resourceIdentifier: formatCrn({ type: 'tenant', id: tenantIdentifier }),
  }
}

function textOf(row: TenantRow): string {
  return JSON.stringify(entryOf(row))
}
