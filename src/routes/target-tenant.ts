import type { z } from 'zod'
import { directoryAddress } from '#actors/directory/address'
import { tenantRow } from '#actors/directory/queries'
import type { Permission, RouteEntry } from '#api/entry'
import type { TenantQuery } from '#api/tenant-field'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { Problem } from '#model/problem'
import { type Action, isPermitted } from '#model/scope'
import type { RouteContext } from '#routes/context'

/** Who answers for a tenant's own affairs: `tenant` is whose are meant, the caller's or the one that he asked for. */
type TenantAnswerer<P, Q, B> = (call: Call<P, Q, B>, tenant: string) => Reply | Promise<Reply>

/** Binds an entry that takes `?tenant=`. Contract 2, Model. */
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
 * Whoever names a tenant has to hold `tenants` for what he does there, also where it is his own: others get 403, and don't
 * learn which tenants there are. Where a PUT may make something, what happens decides; that is asked of his other rights.
 *
 * @throws Problem `forbidden`; `not_found` for a tenant that is not there
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
  if (typeof access === 'string') throw new Error('a route that means a tenant needs a permission')
  return access.mayCreate ? [access.action, 'create'] : [access.action]
}

/** Where something of a tenant is found again. `query`: as it was asked for, so that whoever follows means the same tenant. */
export function locationOf(path: string, { tenant }: TenantQuery): string {
  return `/api/v1${path}${tenant === undefined ? '' : `?tenant=${tenant}`}`
}
