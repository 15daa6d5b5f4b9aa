import { tenantAddress } from '#actors/tenant/address'
import type { DeleteAlarm, PutAlarm } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import * as api from '#api/alarms'
import { nameOfCursor } from '#api/query-field'
import type { Caller } from '#iam/caller'
import { type AlarmBody, alarmEntryOf, type StoredAlarm } from '#model/alarm'
import { type Bound, meantLists } from '#model/bound'
import { Problem } from '#model/problem'
import type { Action } from '#model/scope'
import { seeded } from '#model/seeded'
import { madeId } from '#model/server-made-id'
import { statusList } from '#routes/alarm-status'
import type { RouteContext } from '#routes/context'
import { listReply } from '#routes/list-reply'
import { lookAtTenant } from '#routes/looking'
import { boundWithin, mayBind, membersIn } from '#routes/sight'
import { namesOf, textReply } from '#routes/streamed'
import { type Binding, bind } from '#server/call'

/** Who answers for alarms. Contract 5.1, 5.3. */
export function alarmRoutes(context: RouteContext): Binding[] {
  const { system } = context
  return [
    bind(api.listAlarms, (call) => {
      const { caller, query } = call
      const tenant = lookAtTenant(context, caller.tenant)
      const { alarms } = tenant
      const after = nameOfCursor(query.cursor)
      return listReply(
        context,
        call,
        {},
        {
          limit: query.limit,
          names: namesOf([...alarms.keys()].filter((id) => id > after).sort()),
          isShown: (id) => {
            const alarm = alarms.get(id)
            return alarm !== undefined && isSeen(caller, 'read', tenant, alarm)
          },
          textOf: (id) => {
            const alarm = alarms.get(id)
            return alarm && textOf(id, alarm)
          },
        },
      )
    }),

    bind(api.listAlarmStatus, (call) => statusList(context, call)),

    bind(api.createAlarm, async ({ caller, body, bodyBytes, seed }) => {
      mustBind(caller, 'create', lookAtTenant(context, caller.tenant), body)
      const id = madeId(seeded(seed))
      const put: PutAlarm = { type: 'put_alarm', id, isNew: true, body, author: caller.user }
      const stored = await system.ask(tenantAddress(caller.tenant), put, bodyBytes.byteLength)
      const headers = { Location: `/api/v1/alarms/${id}` }
      return { status: 201, headers, json: alarmEntryOf(id, stored as StoredAlarm) }
    }),

    bind(api.readAlarm, ({ caller, parameters: { alarmId } }) =>
      textReply(context, textOf(alarmId, alarmThere(context, caller, 'read', alarmId))),
    ),

    // Looked at and turned in one breath: whoever sees it now, edits what he sees.
    bind(api.putAlarm, async ({ caller, parameters: { alarmId: id }, body, bodyBytes }) => {
      alarmThere(context, caller, 'update', id)
      mustBind(caller, 'update', lookAtTenant(context, caller.tenant), body)
      const put: PutAlarm = { type: 'put_alarm', id, isNew: false, body, author: caller.user }
      const stored = await system.ask(tenantAddress(caller.tenant), put, bodyBytes.byteLength)
      return { status: 200, json: alarmEntryOf(id, stored as StoredAlarm) }
    }),

    bind(api.deleteAlarm, async ({ caller, parameters: { alarmId: id } }) => {
      alarmThere(context, caller, 'delete', id)
      await system.ask(tenantAddress(caller.tenant), { type: 'delete_alarm', id } satisfies DeleteAlarm)
      return { status: 204 }
    }),
  ]
}

/** @throws Problem `not_found`, also for one that is not all within his reach */
function alarmThere(context: RouteContext, caller: Caller, action: Action, id: string): StoredAlarm {
  const tenant = lookAtTenant(context, caller.tenant)
  const alarm = tenant.alarms.get(id)
  if (!alarm || !isSeen(caller, action, tenant, alarm)) throw new Problem('not_found')
  return alarm
}

function isSeen({ scope }: Caller, action: Action, tenant: TenantState, bound: Bound): boolean {
  // First, for who reaches any device: an alarm may name a million of them.
  if (boundWithin(scope, 'alarms', action, '*')) return true
  const lists = meantLists(bound, membersIn(tenant))
  return lists !== '*' && lists.every((devices) => boundWithin(scope, 'alarms', action, devices))
}

/** @throws Problem `not_found` */
function mustBind({ scope }: Caller, action: Action, tenant: TenantState, body: AlarmBody): void {
  const { serviceIdentifier, devices = null, groups = null } = body
  const may = (bound: readonly string[] | '*') => mayBind(scope, 'alarms', action, bound, serviceIdentifier)
  if (may('*')) return
  const lists = meantLists({ devices, groups }, membersIn(tenant))
  if (lists === '*' || !lists.every(may)) throw new Problem('not_found')
}

function textOf(id: string, alarm: StoredAlarm): string {
  return JSON.stringify(alarmEntryOf(id, alarm))
}
