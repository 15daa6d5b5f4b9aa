import fc from 'fast-check'
import type { StoredGroup } from '#model/group'
import { type Grant, type Scope, scopeOf } from '#model/scope'
import { storedGroup } from '#test/rules/stored-rules'

/** What views of alarms and functions depend on, besides the alarms and functions themselves. */
export interface GroupsAndScopes {
  readonly groups: Map<string, StoredGroup>
  readonly scopes: Map<string, Scope>
}

interface Views {
  groupChanged(tenant: string, id: string, group: StoredGroup | undefined): void
  accessChanged(tenant: string): void
}

export const tenant = 'default'
export const devices = ['A', 'B', 'C', 'D']
export const authors = fc.constantFrom('u1', 'u2', 'u3')

export type ViewStep<World, V> = (world: World, views: V, edit: number) => void

/** What an alarm or function is bound to. */
export const bindings = {
  named: fc.option(fc.subarray(devices), { nil: null }),
  groups: fc.option(fc.subarray(['g1', 'g2']), { nil: null }),
}

export function groupAndScopeSteps(grants: fc.Arbitrary<Grant[]>): fc.Arbitrary<ViewStep<GroupsAndScopes, Views>>[] {
  return [
    fc.tuple(fc.constantFrom('g1', 'g2'), bindings.named).map(([id, members]) => (world, views, edit) => {
      if (members) world.groups.set(id, storedGroup(members, edit))
      else world.groups.delete(id)
      views.groupChanged(tenant, id, world.groups.get(id))
    }),
    fc.tuple(authors, grants).map(([reader, given]) => (world, views) => {
      world.scopes.set(reader, scopeOf(given))
      views.accessChanged(tenant)
    }),
  ]
}
