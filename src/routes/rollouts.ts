import type { RolloutAnswer } from '#actors/project/commands'
import { type ProjectState, projectAddress } from '#actors/project/state'
import { tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/update-projects'
import { nextTime } from '#firmware/schedule'
import { checkPut } from '#http/authentication'
import { type Binding, bind, type Reply } from '#http/call'
import type { Caller } from '#model/caller'
import { randomId } from '#model/identifier'
import { Problem } from '#model/problem'
import { type RolloutBody, type RolloutEntry, rolloutEntryOf, type StoredRollout } from '#model/rollout'
import { type Action, isPermitted } from '#model/scope'
import { seededRandom } from '#model/seeded-random'
import { isVisible, membersIn, replyToChange } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { textReply } from '#routes/replies'
import { checkProjectLimit, mustReachAll, requireEmbeddedServer } from '#routes/update-projects'

/** Routes for rollouts. Contract 6. */
export function rolloutRoutes(context: RouteContext): Binding[] {
  const shift = async (caller: Caller, project: string, type: 'pause' | 'resume'): Promise<Reply> => {
    mustReach(context, caller, 'update', existingRollout(context, caller, project).rollout.body)
    return shown(
      caller,
      await context.system.ask(projectAddress(caller.tenant, project), { type, author: caller.user }),
    )
  }
  return requireEmbeddedServer(context, [
    bind(api.readRollout, ({ caller, parameters: { project } }) => {
      const { rollout, tally } = existingRollout(context, caller, project)
      return textReply(context, JSON.stringify(entryOf({ rollout, counts: tally.counts })))
    }),

    bind(api.putRollout, async ({ caller, parameters: { project }, body, bodyBytes, seed }) => {
      await checkProjectLimit(context, caller, project)
      const { rollout } = context.system.peek(projectAddress(caller.tenant, project))
      checkPut(caller, 'updates', rollout !== undefined)
      // The existing rollout is checked too: callers that may not change it may not replace it.
      if (rollout) mustReach(context, caller, 'update', rollout.body)
      mustReach(context, caller, rollout ? 'update' : 'create', body)
      checkGroupsExist(context, caller, body)
      checkWindowOpens(context, body)
      const id = randomId(seededRandom(seed))
      const put = { type: 'put_rollout', body, id, author: caller.user } as const
      return shown(caller, await context.system.ask(projectAddress(caller.tenant, project), put, bodyBytes.byteLength))
    }),

    bind(api.deleteRollout, async ({ caller, parameters: { project } }) => {
      mustReach(context, caller, 'delete', existingRollout(context, caller, project).rollout.body)
      await context.system.ask(projectAddress(caller.tenant, project), { type: 'delete_rollout' })
      return { status: 204 }
    }),

    bind(api.pauseRollout, ({ caller, parameters: { project } }) => shift(caller, project, 'pause')),
    bind(api.resumeRollout, ({ caller, parameters: { project } }) => shift(caller, project, 'resume')),
  ])
}

type WithRollout = ProjectState & { readonly rollout: StoredRollout }

/** @throws Problem `not_found` */
function existingRollout(context: RouteContext, { tenant }: Caller, project: string): WithRollout {
  const state = context.system.peek(projectAddress(tenant, project))
  if (!state.rollout) throw new Problem('not_found')
  return state as WithRollout
}

/** Callers who may not read the rollout only get its state, which is the result of their request. */
function shown({ scope }: Caller, answer: unknown): Reply {
  return replyToChange(isPermitted(scope, 'updates', 'read'), entryOf(answer as RolloutAnswer), 'state')
}

function entryOf({ rollout, counts }: Pick<RolloutAnswer, 'rollout' | 'counts'>): RolloutEntry {
  return rolloutEntryOf(rollout, counts)
}

/**
 * A rollout for groups is visible to callers that may access all devices of the groups. If a group is deleted,
 * access to all devices is needed, because the group may have had any device.
 * @throws Problem `not_found`; `forbidden` for a rollout that concerns any device
 */
function mustReach(context: RouteContext, caller: Caller, action: Action, { groups }: RolloutBody): void {
  if (!groups) {
    mustReachAll(caller, action)
    return
  }
  const membersOf = membersIn(context.system.wake(tenantAddress(caller.tenant)))
  if (!isVisible(caller.scope, 'updates', action, { devices: null, groups }, membersOf)) throw new Problem('not_found')
}

/** @throws Problem `not_found` for a missing group */
function checkGroupsExist(context: RouteContext, { tenant }: Caller, { groups = [] }: RolloutBody): void {
  const known = context.system.wake(tenantAddress(tenant)).groups
  if (!groups.every((group) => known.has(group))) throw new Problem('not_found')
}

/** @throws Problem `invalid` for a window that never opens */
function checkWindowOpens({ world }: RouteContext, { window }: RolloutBody): void {
  if (!window || nextTime(window.cron, world.now()) !== undefined) return
  const details = [{ path: 'window.cron', message: 'must be a cron expression that names a time within ten years' }]
  throw new Problem('invalid', undefined, { details })
}
