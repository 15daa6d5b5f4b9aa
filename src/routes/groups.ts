import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import { namesGroup, rolesNaming } from '#actors/tenant/roles'
import * as api from '#api/groups'
import { type Binding, bind } from '#http/call'
import type { Caller } from '#model/caller'
import { coversOn } from '#model/grant-coverage'
import { groupEntryOf, isMember, type StoredGroup } from '#model/group'
import { randomId, seededRandom } from '#model/identifier'
import { Problem } from '#model/problem'
import type { Action } from '#model/scope'
import { authorOf, isBindingWithin, mayBind, replyToChange } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { mustMatch, resourceListReply, resourceReply } from '#routes/replies'
import { mustCover } from '#routes/roles'

/** Routes for groups. Contract 5.1. */
export function groupRoutes(context: RouteContext): Binding[] {
  const { system } = context
  return [
    bind(api.listGroups, (call) =>
      resourceListReply(context, call, context.system.wake(tenantAddress(call.caller.tenant)).groups, {
        isShown: (group) => isVisible(call.caller, 'read', group),
        textOf,
      }),
    ),

    bind(api.createGroup, async ({ caller, body, bodyBytes, seed }) => {
      checkMayBind(caller, 'create', body.devices)
      const id = randomId(seededRandom(seed))
      const put: TenantCommand = { type: 'put_group', id, isNew: true, body, ...authorOf(caller, resource) }
      const stored = await system.ask(tenantAddress(caller.tenant), put, bodyBytes.byteLength)
      const headers = { Location: `/api/v1/groups/${id}` }
      return { status: 201, headers, json: groupEntryOf(id, stored as StoredGroup) }
    }),

    bind(api.readGroup, (call) => {
      const { groupId } = call.parameters
      return resourceReply(context, call, textOf(groupId, existingGroup(context, call.caller, 'read', groupId)))
    }),

    bind(api.updateGroup, async (call) => {
      const { caller, body: change, bodyBytes } = call
      const { groupId: id } = call.parameters
      const stored = await system.askAtOnce(() => {
        const before = existingGroup(context, caller, 'update', id)
        const body = { name: change.name ?? before.name, devices: change.devices ?? before.devices }
        checkMayBind(caller, 'update', body.devices)
        mustHoldGrants(
          context,
          caller,
          id,
          body.devices.filter((device) => !isMember(before.devices, device)),
        )
        mustMatch(call, () => textOf(id, before))
        const put: TenantCommand = { type: 'put_group', id, isNew: false, body, author: caller.user }
        return { to: tenantAddress(caller.tenant), command: put, bytes: bodyBytes.byteLength }
      })
      const mayRead = isVisible(caller, 'read', stored as StoredGroup)
      return replyToChange(mayRead, groupEntryOf(id, stored as StoredGroup), 'resourceIdentifier')
    }),

    bind(api.deleteGroup, async (call) => {
      const { caller } = call
      const { groupId: id } = call.parameters
      await system.askAtOnce(() => {
        const group = existingGroup(context, caller, 'delete', id)
        mustMatch(call, () => textOf(id, group))
        return { to: tenantAddress(caller.tenant), command: { type: 'delete_group', id } }
      })
      return { status: 204 }
    }),
  ]
}

/** @throws Problem `not_found`, also for a group that is not entirely within the caller's scope */
function existingGroup(context: RouteContext, caller: Caller, action: Action, id: string): StoredGroup {
  const group = context.system.wake(tenantAddress(caller.tenant)).groups.get(id)
  if (!group || !isVisible(caller, action, group)) throw new Problem('not_found')
  return group
}

/** Contract 2: groups belong to the resource `functions`. */
const resource = 'functions'

function isVisible({ scope }: Caller, action: Action, { devices }: StoredGroup): boolean {
  return isBindingWithin(scope, resource, action, devices)
}

/** @throws Problem `not_found` */
function checkMayBind({ scope }: Caller, action: Action, devices: readonly string[]): void {
  if (!mayBind(scope, resource, action, devices)) throw new Problem('not_found')
}

/**
 * If a grant names a group, the holders of the grant have its rights on all members. So an edit of the group requires
 * these rights, also on each new member. Contract 12.
 *
 * @throws Problem `forbidden`
 */
function mustHoldGrants(context: RouteContext, caller: Caller, group: string, added: readonly string[]): void {
  const state = context.system.wake(tenantAddress(caller.tenant))
  const grants = rolesNaming(state, group).flatMap(([, role]) =>
    role.grants.filter((grant) => namesGroup(grant, group)),
  )
  mustCover(caller, grants)
  if (added.length > 0 && !coversOn(caller.scope, grants, added)) throw new Problem('forbidden')
}

function textOf(id: string, group: StoredGroup): string {
  return JSON.stringify(groupEntryOf(id, group))
}
