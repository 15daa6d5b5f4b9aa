import { itemCount, type ProjectState, projectAddress, projectIndex } from '#actors/project/state'
import type { Binding } from '#http/call'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import { projectsMax } from '#model/release'
import { type Action, reachesEvery } from '#model/scope'
import type { RouteContext } from '#routes/context'

/** Routes of the embedded update server only: with an external one there is nothing to manage here. Contract 6. */
export function requireEmbeddedServer(context: RouteContext, bindings: readonly Binding[]): Binding[] {
  return bindings.map(({ entry, answer }) => ({
    entry,
    answer(call) {
      if (!context.firmware.server.isEmbedded) throw new Problem('not_found', 'another update server is set')
      return answer(call)
    },
  }))
}

/** @throws Problem `not_found` for a project without content */
export function existingProject(context: RouteContext, tenant: string, project: string): ProjectState {
  const state = context.system.peek(projectAddress(tenant, project))
  if (itemCount(state) === 0) throw new Problem('not_found')
  return state
}

/**
 * Above this many projects, only callers that may access all devices create new ones. Otherwise other callers could
 * reach the limit of projects by pins alone.
 */
const narrowProjectsMax = projectsMax / 2

/** @throws Problem `conflict` if this exceeds the number of projects for the tenant or the caller */
export async function checkProjectLimit(
  context: RouteContext,
  { tenant, scope }: Caller,
  project: string,
): Promise<void> {
  if (itemCount(context.system.peek(projectAddress(tenant, project))) > 0) return
  const isNarrow = !reachesEvery(scope, 'updates', 'create', '*')
  const max = isNarrow ? narrowProjectsMax : projectsMax
  const pages = context.listing.entries(projectIndex, tenant)
  try {
    let count = 0
    while (count < max) {
      const names = await pages.next(max - count)
      if (names.length === 0) return
      count += names.length
    }
  } finally {
    await pages.close()
  }
  const most = `a tenant has at most ${projectsMax} projects`
  const why = `${most}, and users without access to all devices cannot create one above ${narrowProjectsMax}`
  throw new Problem('conflict', isNarrow ? why : most)
}

/**
 * For objects that concern any device: releases, and rollouts without groups.
 * @throws Problem `forbidden`
 */
export function mustReachAll({ scope }: Caller, action: Action): void {
  if (!reachesEvery(scope, 'updates', action, '*')) throw new Problem('forbidden')
}
