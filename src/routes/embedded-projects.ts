import { projectAddress, projectIndex } from '#actors/project/address'
import { itemCount, type ProjectState } from '#actors/project/state'
import type { Binding } from '#http/call'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import { projectsMax } from '#model/release'
import { type Action, reachesEvery } from '#model/scope'
import type { RouteContext } from '#routes/context'

/** What only the embedded update server has: with another one set there is nothing to manage here. Contract 6. */
export function embeddedOnly(context: RouteContext, bindings: readonly Binding[]): Binding[] {
  return bindings.map(({ entry, answer }) => ({
    entry,
    answer(call) {
      if (!context.firmware.server.isEmbedded) throw new Problem('not_found', 'another update server is set')
      return answer(call)
    },
  }))
}

/** @throws Problem `not_found` for one that has nothing */
export function projectThere(context: RouteContext, tenant: string, project: string): ProjectState {
  const state = context.system.peek(projectAddress(tenant, project))
  if (itemCount(state) === 0) throw new Problem('not_found')
  return state
}

/** Projects behind which only a caller who reaches all devices begins another one: others could fill them all with pins. */
const narrowProjectsMax = projectsMax / 2

/** @throws Problem `conflict` where this would be one project too many for the tenant, or for the caller */
export async function mustHaveRoom(context: RouteContext, { tenant, scope }: Caller, project: string): Promise<void> {
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
  const why = `${most}, and a user who does not reach all devices begins none once there are ${narrowProjectsMax}`
  throw new Problem('conflict', isNarrow ? why : most)
}

/**
 * For what concerns any device: releases, and rollouts that are not for groups.
 * @throws Problem `forbidden`
 */
export function mustReachAll({ scope }: Caller, action: Action): void {
  if (!reachesEvery(scope, 'updates', action, '*')) throw new Problem('forbidden')
}
