import type { ProjectCommand } from '#actors/project/commands'
import type { ProjectState } from '#actors/project/state'
import type { ActorAddress } from '#runtime/actor'

/** One project of a tenant in the embedded update server. */
export function projectAddress(tenant: string, project: string): ActorAddress<ProjectState, ProjectCommand> {
  return { kind: 'project', tenant, id: project }
}

/** Projects with a release, a pin or a rollout: entries `<project>`. */
export const projectIndex = 'project'

/** Projects with a running scan of their devices: entries `<project>`. */
export const scanningIndex = 'walking'
