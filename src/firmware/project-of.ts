import { projectAddress } from '#actors/project/address'
import type { ProjectState } from '#actors/project/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { System } from '#runtime/system'

/**
 * A project as it is now, perhaps not stored yet. Its actor is woken: what it has is read once. The caller knows that its
 * tenant is there. @throws Problem `storage`
 */
export function projectOf(system: System<Entry>, tenant: string, project: string): ProjectState {
  if (!system.isServing) throw new Problem('storage')
  return system.registry.wake(projectAddress(tenant, project)).state as ProjectState
}
