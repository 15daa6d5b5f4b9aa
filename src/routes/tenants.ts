import { directoryAddress } from '#actors/directory/address'
import type { AddTenant, ChangeTenant, UpdateTenant } from '#actors/directory/commands'
import { tenantRow, tenantRows } from '#actors/directory/queries'
import type { TenantRow } from '#actors/directory/state'
import * as api from '#api/tenants'
import { formatCrn } from '#model/crn'
import { Problem } from '#model/problem'
import type { TenantEntry } from '#model/tenant'
import type { RouteContext } from '#routes/context'
import { lookAtDirectory } from '#routes/looking'
import { textReply } from '#routes/streamed'
import { type Binding, bind } from '#server/call'

/** Who answers for tenants. That they are the affair of tenant `default` alone is what its scopes say. Contract 2. */
export function tenantRoutes(context: RouteContext): Binding[] {
  const { system } = context
  return [
    bind(api.listTenants, () => textReply(context, JSON.stringify(tenantRows(lookAtDirectory(context)).map(entryOf)))),

    bind(api.createTenant, async ({ body: { tenantIdentifier, name, hosts, twoFactor, basic }, isRepeated }) => {
      const tenant = {
        tenantIdentifier,
        name,
        hosts: hosts ?? [],
        twoFactor: twoFactor ?? 'optional',
        basic: basic ?? true,
      }
      const add: AddTenant = { type: 'add_tenant', tenant, isRepeated }
      const row = await system.ask(directoryAddress, add)
      const headers = { Location: `/api/v1/iam/tenants/${tenantIdentifier}` }
      return { status: 201, headers, json: entryOf(row as TenantRow) }
    }),

    bind(api.readTenant, ({ parameters: { tenantIdentifier } }) => {
      const row = tenantRow(lookAtDirectory(context), tenantIdentifier)
      if (!row) throw new Problem('not_found')
      return textReply(context, JSON.stringify(entryOf(row)))
    }),

    bind(api.updateTenant, async ({ parameters, body: { name, hosts, twoFactor, basic } }) => {
      const change = {
        ...(name !== undefined && { name }),
        ...(hosts !== undefined && { hosts }),
        ...(twoFactor !== undefined && { twoFactor }),
        ...(basic !== undefined && { basic }),
      }
      const update: UpdateTenant = { type: 'update_tenant', tenant: parameters.tenantIdentifier, change }
      return { status: 200, json: entryOf((await system.ask(directoryAddress, update)) as TenantRow) }
    }),

    // What was in it goes in the background, from the moment on in which this is stored.
    bind(api.deleteTenant, async ({ parameters: { tenantIdentifier: tenant } }) => {
      await system.ask(directoryAddress, { type: 'delete_tenant', tenant } satisfies ChangeTenant)
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
