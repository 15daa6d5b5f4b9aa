import { isDeepStrictEqual } from 'node:util'
import { type PutAlarm, tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/alarms'
import { type Binding, bind } from '#http/call'
import { type AlarmBody, alarmEntryOf, type StoredAlarm } from '#model/alarm'
import type { Caller } from '#model/caller'
import { randomId, seededRandom } from '#model/identifier'
import { Problem } from '#model/problem'
import { type Action, servicesWithin } from '#model/scope'
import { alarmStatusRoutes } from '#routes/alarm-status'
import { authorOf, checkBindings, isVisible, membersIn, replyToChange } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { mustMatch, resourceReply } from '#routes/entity-tag'
import { resourceListReply } from '#routes/list-reply'
import { unknownNamesIn } from '#rules/property-name'

/** Routes for alarms. Contract 5.1, 5.3. */
export function alarmRoutes(context: RouteContext): Binding[] {
  const { system } = context
  return [
    bind(api.listAlarms, (call) => {
      const tenant = context.system.wake(tenantAddress(call.caller.tenant))
      const membersOf = membersIn(tenant)
      return resourceListReply(context, call, tenant.alarms, {
        isShown: (alarm) => isVisible(call.caller.scope, 'alarms', 'read', alarm, membersOf),
        textOf,
      })
    }),

    ...alarmStatusRoutes(context),

    bind(api.createAlarm, async ({ caller, body, bodyBytes, seed }) => {
      const id = randomId(seededRandom(seed))
      const stored = await system.askAtOnce(() => {
        checkMayBind(context, caller, 'create', body)
        mustReadNames(caller, body)
        context.streamShare.take(caller, bodyBytes.byteLength)
        const put: PutAlarm = { type: 'put_alarm', id, isNew: true, body, ...authorOf(caller, 'alarms') }
        return { to: tenantAddress(caller.tenant), command: put, bytes: bodyBytes.byteLength }
      })
      const headers = { Location: `/api/v1/alarms/${id}` }
      return { status: 201, headers, json: alarmEntryOf(id, stored as StoredAlarm) }
    }),

    bind(api.readAlarm, (call) => {
      const { alarmId } = call.parameters
      return resourceReply(context, call, textOf(alarmId, existingAlarm(context, call.caller, 'read', alarmId)))
    }),

    bind(api.putAlarm, async (call) => {
      const { caller, body, bodyBytes } = call
      const { alarmId: id } = call.parameters
      const stored = await system.askAtOnce(() => {
        const before = existingAlarm(context, caller, 'update', id)
        checkMayBind(context, caller, 'update', body)
        if (!isDeepStrictEqual(body.condition, before.condition)) mustReadNames(caller, body)
        mustMatch(call, () => textOf(id, before))
        context.streamShare.take(caller, bodyBytes.byteLength)
        const put: PutAlarm = { type: 'put_alarm', id, isNew: false, body, ...authorOf(caller, 'alarms') }
        return { to: tenantAddress(caller.tenant), command: put, bytes: bodyBytes.byteLength }
      })
      const mayRead = isThere(context, caller, 'read', stored as StoredAlarm)
      return replyToChange(mayRead, alarmEntryOf(id, stored as StoredAlarm), 'resourceIdentifier')
    }),

    bind(api.deleteAlarm, async (call) => {
      const { caller } = call
      const { alarmId: id } = call.parameters
      await system.askAtOnce(() => {
        const alarm = existingAlarm(context, caller, 'delete', id)
        mustMatch(call, () => textOf(id, alarm))
        return { to: tenantAddress(caller.tenant), command: { type: 'delete_alarm', id } }
      })
      return { status: 204 }
    }),
  ]
}

/** @throws Problem `not_found`, also for an alarm that is not entirely within the caller's scope */
function existingAlarm(context: RouteContext, caller: Caller, action: Action, id: string): StoredAlarm {
  const alarm = context.system.wake(tenantAddress(caller.tenant)).alarms.get(id)
  if (!alarm || !isThere(context, caller, action, alarm)) throw new Problem('not_found')
  return alarm
}

function isThere(context: RouteContext, { tenant, scope }: Caller, action: Action, alarm: StoredAlarm): boolean {
  return isVisible(scope, 'alarms', action, alarm, membersIn(context.system.wake(tenantAddress(tenant))))
}

/** Refuses property names, also existing ones, if the caller may not read the schema. @throws Problem `invalid` */
function mustReadNames({ scope }: Caller, { serviceIdentifier, condition }: AlarmBody): void {
  if (servicesWithin(scope, 'schemas', 'read')(serviceIdentifier)) return
  const details = unknownNamesIn(condition, undefined, 'condition')
  if (details.length > 0) throw new Problem('invalid', undefined, { details })
}

/** @throws Problem `not_found` */
function checkMayBind(context: RouteContext, { tenant, scope }: Caller, action: Action, body: AlarmBody): void {
  const { serviceIdentifier, devices = null, groups = null } = body
  const membersOf = membersIn(context.system.wake(tenantAddress(tenant)))
  checkBindings(scope, 'alarms', action, { devices, groups }, membersOf, [serviceIdentifier])
}

function textOf(id: string, alarm: StoredAlarm): string {
  return JSON.stringify(alarmEntryOf(id, alarm))
}
