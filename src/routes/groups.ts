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
import { authorOf, isBindingWithin, mayBind } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { mustCover } from '#routes/roles'
import { tenantResources } from '#routes/tenant-resources'

/** Routes for groups. Contract 5.1. */
export function groupRoutes(context: RouteContext): Binding[] {
  const { system } = context
  const groups = tenantResources<StoredGroup>(context, {
    path: '/groups',
    all: (tenant) => tenant.groups,
    isVisible: ({ scope }, action, { devices }) => isBindingWithin(scope, resource, action, devices),
    entryOf: groupEntryOf,
  })
  return [
    bind(api.listGroups, groups.list),

    bind(api.createGroup, async (call) => {
      const { caller, body, bodyBytes, seed } = call
      checkMayBind(caller, 'create', body.devices)
      const id = randomId(seededRandom(seed))
      const put: TenantCommand = { type: 'put_group', id, isNew: true, body, ...authorOf(caller, resource) }
      const stored = await system.ask(tenantAddress(caller.tenant), put, bodyBytes.byteLength)
      return groups.created(call, id, stored)
    }),

    bind(api.readGroup, (call) => groups.read(call, call.parameters.groupId)),

    bind(api.updateGroup, async (call) => {
      const { caller, body: change, bodyBytes } = call
      const { groupId: id } = call.parameters
      const stored = await system.askAtOnce(() => {
        const before = groups.existing(caller, 'update', id)
        const body = { name: change.name ?? before.name, devices: change.devices ?? before.devices }
        checkMayBind(caller, 'update', body.devices)
        mustHoldGrants(
          context,
          caller,
          id,
          body.devices.filter((device) => !isMember(before.devices, device)),
        )
        groups.mustMatchTag(call, id, before)
        const put: TenantCommand = { type: 'put_group', id, isNew: false, body, author: caller.user }
        return { to: tenantAddress(caller.tenant), command: put, bytes: bodyBytes.byteLength }
      })
      return groups.changed(call, id, stored)
    }),

    bind(api.deleteGroup, (call) => {
      const { groupId: id } = call.parameters
      return groups.remove(call, id, { type: 'delete_group', id })
    }),
  ]
}

/** Contract 2: groups belong to the resource `functions`. */
const resource = 'functions'

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
