import type { ProjectCommand } from '#actors/project/commands'
import type { ProjectState } from '#actors/project/state'
import type { ActorAddress } from '#runtime/actor'

/** What the embedded update server has for one project of a tenant. */
export function projectAddress(tenant: string, project: string): ActorAddress<ProjectState, ProjectCommand> {
  return { kind: 'project', tenant, id: project }
}

/** Projects that have a release, a pin or a rollout: entries `<project>`. */
export const projectIndex = 'project'

/** Projects whose devices are being gone through: entries `<project>`. */
export const walkingIndex = 'walking'
