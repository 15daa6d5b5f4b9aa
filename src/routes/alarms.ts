import { tenantAddress } from '#actors/tenant/address'
import type { DeleteAlarm, PutAlarm } from '#actors/tenant/commands'
import * as api from '#api/alarms'
import type { Caller } from '#iam/caller'
import { type AlarmBody, alarmEntryOf, type StoredAlarm } from '#model/alarm'
import { Problem } from '#model/problem'
import type { Action } from '#model/scope'
import { seeded } from '#model/seeded'
import { madeId } from '#model/server-made-id'
import { statusList } from '#routes/alarm-status'
import type { RouteContext } from '#routes/context'
import { mustMatch, thingReply } from '#routes/entity-tag'
import { thingsReply } from '#routes/list-reply'
import { lookAtTenant } from '#routes/looking'
import { isSeen, membersIn, mustBindAll } from '#routes/sight'
import { type Binding, bind } from '#server/call'

/** Who answers for alarms. Contract 5.1, 5.3. */
export function alarmRoutes(context: RouteContext): Binding[] {
  const { system } = context
  return [
    bind(api.listAlarms, (call) => {
      const tenant = lookAtTenant(context, call.caller.tenant)
      const membersOf = membersIn(tenant)
      return thingsReply(context, call, tenant.alarms, {
        isShown: (alarm) => isSeen(call.caller.scope, 'alarms', 'read', alarm, membersOf),
        textOf,
      })
    }),

    bind(api.listAlarmStatus, (call) => statusList(context, call)),

    bind(api.createAlarm, async ({ caller, body, bodyBytes, seed }) => {
      mustBind(context, caller, 'create', body)
      const id = madeId(seeded(seed))
      context.streamShare.take(caller, bodyBytes.byteLength)
      const put: PutAlarm = { type: 'put_alarm', id, isNew: true, body, author: caller.user }
      const stored = await system.ask(tenantAddress(caller.tenant), put, bodyBytes.byteLength)
      const headers = { Location: `/api/v1/alarms/${id}` }
      return { status: 201, headers, json: alarmEntryOf(id, stored as StoredAlarm) }
    }),

    bind(api.readAlarm, (call) => {
      const { alarmId } = call.parameters
      return thingReply(context, call, textOf(alarmId, alarmThere(context, call.caller, 'read', alarmId)))
    }),

    // Looked at and turned in one breath: whoever sees it now, edits what he sees.
    bind(api.putAlarm, async (call) => {
      const { caller, body, bodyBytes } = call
      const { alarmId: id } = call.parameters
      const before = alarmThere(context, caller, 'update', id)
      mustBind(context, caller, 'update', body)
      mustMatch(call, textOf(id, before))
      context.streamShare.take(caller, bodyBytes.byteLength)
      const put: PutAlarm = { type: 'put_alarm', id, isNew: false, body, author: caller.user }
      const stored = await system.ask(tenantAddress(caller.tenant), put, bodyBytes.byteLength)
      return { status: 200, json: alarmEntryOf(id, stored as StoredAlarm) }
    }),

    bind(api.deleteAlarm, async (call) => {
      const { caller } = call
      const { alarmId: id } = call.parameters
      mustMatch(call, textOf(id, alarmThere(context, caller, 'delete', id)))
      await system.ask(tenantAddress(caller.tenant), { type: 'delete_alarm', id } satisfies DeleteAlarm)
      return { status: 204 }
    }),
  ]
}

/** @throws Problem `not_found`, also for one that is not all within his reach */
function alarmThere(context: RouteContext, caller: Caller, action: Action, id: string): StoredAlarm {
  const tenant = lookAtTenant(context, caller.tenant)
  const alarm = tenant.alarms.get(id)
  if (!alarm || !isSeen(caller.scope, 'alarms', action, alarm, membersIn(tenant))) throw new Problem('not_found')
  return alarm
}

/** @throws Problem `not_found` */
function mustBind(context: RouteContext, { tenant, scope }: Caller, action: Action, body: AlarmBody): void {
  const { serviceIdentifier, devices = null, groups = null } = body
  const membersOf = membersIn(lookAtTenant(context, tenant))
  mustBindAll(scope, 'alarms', action, { devices, groups }, membersOf, [serviceIdentifier])
}

function textOf(id: string, alarm: StoredAlarm): string {
  return JSON.stringify(alarmEntryOf(id, alarm))
}
