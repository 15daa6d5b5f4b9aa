import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import type { ListQuery } from '#api/fields'
import type { Call, Reply } from '#http/call'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import type { Action } from '#model/scope'
import { replyToChange } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { mustMatch, resourceListReply, resourceReply } from '#routes/replies'

interface Kind<Stored> {
  /** The path of the list, below `/api/v1`. */
  readonly path: string
  readonly all: (tenant: TenantState) => ReadonlyMap<string, Stored>
  readonly isVisible: (caller: Caller, action: Action, stored: Stored, tenant: TenantState) => boolean
  readonly entryOf: (id: string, stored: Stored, tenant: string) => { readonly resourceIdentifier: string }
}

/** The answers about resources in the state of a tenant that are alike for all kinds. */
export function tenantResources<Stored>(context: RouteContext, { path, all, isVisible, entryOf }: Kind<Stored>) {
  const { system } = context
  const isThere = (caller: Caller, action: Action, stored: Stored) =>
    isVisible(caller, action, stored, system.wake(tenantAddress(caller.tenant)))
  const textOf = ({ caller }: Call, id: string, stored: Stored) => JSON.stringify(entryOf(id, stored, caller.tenant))
  /** @throws Problem `not_found`, also for a resource that the caller may not see */
  const existing = (caller: Caller, action: Action, id: string): Stored => {
    const stored = all(system.wake(tenantAddress(caller.tenant))).get(id)
    if (stored === undefined || !isThere(caller, action, stored)) throw new Problem('not_found')
    return stored
  }
  const mustMatchTag = (call: Call, id: string, before: Stored | undefined) =>
    mustMatch(call, () => before && textOf(call, id, before))
  return {
    existing,
    /** Checks the condition of a change. Call it within `askAtOnce`. @throws Problem `changed_meanwhile` */
    mustMatchTag,
    list(call: Call<unknown, ListQuery>): Promise<Reply> {
      const tenant = system.wake(tenantAddress(call.caller.tenant))
      return resourceListReply(context, call, all(tenant), {
        isShown: (stored) => isVisible(call.caller, 'read', stored, tenant),
        textOf: (id, stored) => textOf(call, id, stored),
      })
    },
    read: (call: Call, id: string): Promise<Reply> =>
      resourceReply(context, call, textOf(call, id, existing(call.caller, 'read', id))),
    created: ({ caller }: Call, id: string, stored: unknown): Reply => ({
      status: 201,
      headers: { Location: `/api/v1${path}/${id}` },
      json: entryOf(id, stored as Stored, caller.tenant),
    }),
    changed: ({ caller }: Call, id: string, stored: unknown): Reply =>
      replyToChange(
        isThere(caller, 'read', stored as Stored),
        entryOf(id, stored as Stored, caller.tenant),
        'resourceIdentifier',
      ),
    async remove(call: Call, id: string, command: TenantCommand): Promise<Reply> {
      await system.askAtOnce(() => {
        mustMatchTag(call, id, existing(call.caller, 'delete', id))
        return { to: tenantAddress(call.caller.tenant), command }
      })
      return { status: 204 }
    },
  }
}
