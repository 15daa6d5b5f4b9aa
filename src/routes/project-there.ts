import { projectAddress } from '#actors/project/address'
import type { ProjectCommand } from '#actors/project/commands'
import type { ProjectState } from '#actors/project/state'
import type { Caller } from '#iam/caller'
import { Problem } from '#model/problem'
import { type Action, reachesEvery } from '#model/scope'
import type { RouteContext } from '#routes/context'

/** A project as it is now, there or not; does not wake it. Wait for the gate before showing it. */
export function lookAtProject({ system }: RouteContext, tenant: string, project: string): ProjectState {
  return system.look(projectAddress(tenant, project)) as ProjectState
}

/** @throws Problem `not_found` for one that has nothing */
export function projectThere(context: RouteContext, tenant: string, project: string): ProjectState {
  const state = lookAtProject(context, tenant, project)
  if (state.releases.size === 0 && state.pins.size === 0 && !state.rollout) throw new Problem('not_found')
  return state
}

export function askProject(
  { system }: RouteContext,
  tenant: string,
  project: string,
  command: ProjectCommand,
  bytes = 0,
): Promise<unknown> {
  return system.ask(projectAddress(tenant, project), command, bytes)
}

/**
 * For what concerns any device: releases, and rollouts that are not for groups.
 * @throws Problem `forbidden`
 */
export function mustReachAll({ scope }: Caller, action: Action): void {
  if (!reachesEvery(scope, 'updates', action, '*')) throw new Problem('forbidden')
}
