import { itemCount, type ProjectState, projectAddress, projectIndex, type RolloutAnswer } from '#actors/project/state'
import { tenantAddress } from '#actors/tenant/commands'
import { nameOfCursor } from '#api/fields'
import * as api from '#api/update-projects'
import { nextTime } from '#firmware/schedule'
import { checkPut, putAction } from '#http/authentication'
import { type Binding, bind, type Reply } from '#http/call'
import type { Caller } from '#model/caller'
import { formatCrn } from '#model/crn'
import { randomId, seededRandom } from '#model/identifier'
import { Problem } from '#model/problem'
import { projectsMax } from '#model/release'
import { type RolloutBody, rolloutEntryOf, type StoredRollout } from '#model/rollout'
import { type Action, devicesWithin, isPermitted, reachesDevice, reachesEvery } from '#model/scope'
import { isVisible, membersIn, replyToChange } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { listReply, textReply } from '#routes/replies'
import { namesOf } from '#runtime/storage'

/** Routes for projects of the embedded update server and for pinned devices. Contract 6. */
export function updateProjectRoutes(context: RouteContext): Binding[] {
  return requireEmbeddedServer(context, [
    bind(api.listProjects, (call) => {
      const { tenant } = call.caller
      const after = nameOfCursor(call.query.cursor)
      return listReply(context, call, {
        names: context.listing.entries(projectIndex, tenant, '', after),
        // Also shown to callers without access to all devices, because the entry names none.
        isShown: () => true,
        textOf: (project) => JSON.stringify(entryOf(tenant, context.system.peek(projectAddress(tenant, project)))),
      })
    }),

    bind(api.listPins, (call) => {
      const { caller, parameters, query } = call
      const { tenant } = caller
      const { pins } = existingProject(context, tenant, parameters.project)
      const isWithin = devicesWithin(caller.scope, 'updates', 'read')
      // A pin is read when its text is made: it may have changed or been deleted by then.
      const firmwareOf = (device: string) =>
        context.system.peek(projectAddress(tenant, parameters.project)).pins.get(device)
      return listReply(context, call, {
        names: namesOf(namesAfter(pins.keys(), nameOfCursor(query.cursor))),
        isShown: (device) => isWithin(device) && firmwareOf(device) !== undefined,
        textOf: (device) => {
          const firmware = firmwareOf(device)
          return firmware === undefined ? undefined : JSON.stringify({ deviceIdentifier: device, firmware })
        },
      })
    }),

    bind(api.readPin, ({ caller, parameters: { project, deviceIdentifier } }) =>
      textReply(context, JSON.stringify({ firmware: existingPin(context, caller, project, deviceIdentifier) })),
    ),

    bind(api.putPin, async ({ caller, parameters: { project, deviceIdentifier: device }, body, bodyBytes }) => {
      await checkProjectLimit(context, caller, project)
      checkPutPin(context, caller, project, device)
      const { firmware } = body
      await context.system.ask(
        projectAddress(caller.tenant, project),
        { type: 'put_pin', device, firmware },
        bodyBytes.byteLength,
      )
      return { status: 200, json: body }
    }),

    bind(api.deletePin, async ({ caller, parameters: { project, deviceIdentifier: device } }) => {
      existingPin(context, caller, project, device)
      await context.system.ask(projectAddress(caller.tenant, project), { type: 'delete_pin', device })
      return { status: 204 }
    }),
  ])
}

function entryOf(tenant: string, { project, releases, pins, rollout, tally }: ProjectState): api.ProjectEntry {
  return {
    project,
    resourceIdentifier: formatCrn({ type: 'project', tenant, name: project }),
    releases: releases.size,
    pins: pins.size,
    rollout: rollout ? rolloutEntryOf(rollout, tally.counts) : null,
  }
}

/** The names after a cursor, in order. */
function namesAfter(names: Iterable<string>, after: string): readonly string[] {
  return [...names].filter((name) => name > after).sort()
}

/** The firmware version to which a device is pinned. @throws Problem `not_found` */
function existingPin(context: RouteContext, { tenant }: Caller, project: string, device: string): string {
  const firmware = context.system.peek(projectAddress(tenant, project)).pins.get(device)
  if (firmware === undefined) throw new Problem('not_found')
  return firmware
}

/**
 * A new pin needs another permission than a changed pin. A caller may have these on different devices. Contract 1.4.
 * @throws Problem `forbidden`, `not_found`
 */
function checkPutPin(context: RouteContext, { tenant, scope }: Caller, project: string, device: string): void {
  const action = putAction(context.system.peek(projectAddress(tenant, project)).pins.has(device))
  if (scope.reaches('updates', action).length === 0) throw new Problem('forbidden')
  if (!reachesDevice(scope, 'updates', action, device)) throw new Problem('not_found')
}

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
      return textReply(context, JSON.stringify(rolloutEntryOf(rollout, tally.counts)))
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
  const { rollout, counts } = answer as RolloutAnswer
  return replyToChange(isPermitted(scope, 'updates', 'read'), rolloutEntryOf(rollout, counts), 'state')
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
