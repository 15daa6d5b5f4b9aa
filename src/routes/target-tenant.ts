import type { z } from 'zod'
import { tenantRow } from '#actors/directory/queries'
import { directoryAddress } from '#actors/directory/state'
import type { TenantQuery } from '#api/fields'
import type { Permission, RouteEntry } from '#api/route-entry'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { Problem } from '#model/problem'
import { type Action, isPermitted } from '#model/scope'
import type { RouteContext } from '#routes/context'

/** The handler of a route with `?tenant=`: `tenant` is the tenant in the query, otherwise the caller's. */
type TenantAnswerer<P, Q, B> = (call: Call<P, Q, B>, tenant: string) => Reply | Promise<Reply>

/** Binds a route with `?tenant=`. Contract 2, Model. */
export function bindForTenant<
  const Path extends string,
  P extends z.ZodType,
  Q extends z.ZodType<TenantQuery>,
  B extends z.ZodType,
>(
  context: RouteContext,
  entry: RouteEntry<Path, P, Q, B>,
  answer: TenantAnswerer<z.infer<P>, z.infer<Q>, z.infer<B>>,
): Binding {
  const actions = actionsOf(entry.access)
  return bind(entry, (call) => answer(call, targetTenant(context, call, actions)))
}

/**
 * Callers that name a tenant need the permission on `tenants`, even for their own tenant. Others get 403 and do not
 * learn which tenants exist. For a PUT that may create an object, the required permission depends on its actual effect,
 * which is checked with the other rights.
 *
 * @throws Problem `forbidden`; `not_found` for a missing tenant
 */
function targetTenant(
  context: RouteContext,
  { caller, query: { tenant } }: Call<unknown, TenantQuery>,
  actions: readonly Action[],
): string {
  if (tenant === undefined) return caller.tenant
  if (!actions.some((action) => isPermitted(caller.scope, 'tenants', action))) throw new Problem('forbidden')
  if (!tenantRow(context.system.wake(directoryAddress), tenant)) throw new Problem('not_found')
  return tenant
}

function actionsOf(access: string | Pick<Permission, 'action' | 'mayCreate'>): readonly Action[] {
  if (typeof access === 'string') throw new Error('a route with a tenant needs a permission')
  return access.mayCreate ? [access.action, 'create'] : [access.action]
}

/** The `Location` of an object of a tenant. `query`: as in the request, so that the location names the same tenant. */
export function locationOf(path: string, { tenant }: TenantQuery): string {
  return `/api/v1${path}${tenant === undefined ? '' : `?tenant=${tenant}`}`
}
