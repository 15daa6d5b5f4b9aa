import { isDeepStrictEqual } from 'node:util'
import { alarmIndex } from '#actors/device/alarms'
import { deviceAddress } from '#actors/device/device'
import { type PutAlarm, tenantAddress } from '#actors/tenant/commands'
import type { AlarmStatusQuery } from '#api/alarms'
import * as api from '#api/alarms'
import { nameOfCursor } from '#api/fields'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { type AlarmBody, alarmEntryOf, type StoredAlarm } from '#model/alarm'
import type { Caller } from '#model/caller'
import { formatCrn } from '#model/crn'
import { randomId } from '#model/identifier'
import { Problem } from '#model/problem'
import { type Action, devicesWithin, servicesWithin } from '#model/scope'
import { seededRandom } from '#model/seeded-random'
import { authorOf, changedReply, isVisible, membersIn, mustBindAll } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { mustMatch, resourceReply } from '#routes/entity-tag'
import { listReply, resourceListReply, streamHeaders } from '#routes/list-reply'
import { unknownNamesIn } from '#rules/property-name'
import { namesOf, type Pages } from '#runtime/storage'

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

    bind(api.listAlarmStatus, (call) => statusList(context, call)),

    bind(api.createAlarm, async ({ caller, body, bodyBytes, seed }) => {
      const id = randomId(seededRandom(seed))
      const stored = await system.askAtOnce(() => {
        mustBind(context, caller, 'create', body)
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
        mustBind(context, caller, 'update', body)
        if (!isDeepStrictEqual(body.condition, before.condition)) mustReadNames(caller, body)
        mustMatch(call, () => textOf(id, before))
        context.streamShare.take(caller, bodyBytes.byteLength)
        const put: PutAlarm = { type: 'put_alarm', id, isNew: false, body, ...authorOf(caller, 'alarms') }
        return { to: tenantAddress(caller.tenant), command: put, bytes: bodyBytes.byteLength }
      })
      const mayRead = isThere(context, caller, 'read', stored as StoredAlarm)
      return changedReply(mayRead, alarmEntryOf(id, stored as StoredAlarm), 'resourceIdentifier')
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

/** @throws Problem `not_found`, also for an alarm that is not all within the caller's scope */
function existingAlarm(context: RouteContext, caller: Caller, action: Action, id: string): StoredAlarm {
  const alarm = context.system.wake(tenantAddress(caller.tenant)).alarms.get(id)
  if (!alarm || !isThere(context, caller, action, alarm)) throw new Problem('not_found')
  return alarm
}

function isThere(context: RouteContext, { tenant, scope }: Caller, action: Action, alarm: StoredAlarm): boolean {
  return isVisible(scope, 'alarms', action, alarm, membersIn(context.system.wake(tenantAddress(tenant))))
}

/** A condition must not reveal whether a schema contains a name. @throws Problem `invalid`, with or without a schema */
function mustReadNames({ scope }: Caller, { serviceIdentifier, condition }: AlarmBody): void {
  if (servicesWithin(scope, 'schemas', 'read')(serviceIdentifier)) return
  const details = unknownNamesIn(condition, undefined, 'condition')
  if (details.length > 0) throw new Problem('invalid', undefined, { details })
}

/** @throws Problem `not_found` */
function mustBind(context: RouteContext, { tenant, scope }: Caller, action: Action, body: AlarmBody): void {
  const { serviceIdentifier, devices = null, groups = null } = body
  const membersOf = membersIn(context.system.wake(tenantAddress(tenant)))
  mustBindAll(scope, 'alarms', action, { devices, groups }, membersOf, [serviceIdentifier])
}

function textOf(id: string, alarm: StoredAlarm): string {
  return JSON.stringify(alarmEntryOf(id, alarm))
}

/** A row of the list: one alarm on one device. */
interface StatusRow {
  readonly alarm: string
  readonly device: string
  readonly isActive: boolean
  readonly since: number
}

/**
 * The devices on which alarms are or were active: the state that results from their events, for callers that receive
 * these. Contract 5.3. A row depends on its device only, as the events do, so a client that applies the events to the
 * list has the later list.
 */
function statusList(context: RouteContext, call: Call<unknown, AlarmStatusQuery>): Promise<Reply> {
  const { caller, query } = call
  const { tenant, scope } = caller
  // Read before the names: the list then contains at least all events up to this position.
  const headers = streamHeaders(context, tenant)
  const isWithin = devicesWithin(scope, 'alarms', 'read')
  const shownRow = (name: string) => {
    const row = rowOf(context, tenant, name)
    return row && (query.active === undefined || row.isActive === query.active) ? row : undefined
  }
  const requested = query.deviceIdentifier && new Set(query.deviceIdentifier)
  return listReply(context, call, headers, {
    limit: query.limit,
    names: rowNames(context, tenant, nameOfCursor(query.cursor), requested),
    isShown: (name) => (requested?.has(deviceIn(name)) ?? true) && isWithin(deviceIn(name)),
    isMatching: query.active === undefined ? undefined : (name) => shownRow(name) !== undefined,
    textOf: (name) => {
      const row = shownRow(name)
      return row && statusText(row)
    },
  })
}

/** Up to this many devices are read one by one; for more, the index is scanned in slices. */
const singleReadsMax = 100

/** `<alarm>/<device>`, in order. For many devices it also contains others. */
function rowNames(
  context: RouteContext,
  tenant: string,
  after: string,
  requested: ReadonlySet<string> | undefined,
): Pages {
  if (!requested || requested.size > singleReadsMax) return context.listing.entries(alarmIndex, tenant, '', after)
  const names = [...requested].flatMap((device) => {
    const alarms = [...(context.system.peek(deviceAddress(tenant, device))?.alarms ?? [])]
    return alarms.filter(([, { since }]) => since > 0).map(([alarm]) => `${alarm}/${device}`)
  })
  return namesOf(names.filter((name) => name > after).sort())
}

/** Undefined if the alarm was never active, or ended. */
function rowOf(context: RouteContext, tenant: string, name: string): StatusRow | undefined {
  const [alarm, device] = [name.slice(0, name.indexOf('/')), deviceIn(name)]
  const state = context.system.peek(deviceAddress(tenant, device))?.alarms.get(alarm)
  return state && state.since > 0 ? { alarm, device, isActive: state.isActive, since: state.since } : undefined
}

function deviceIn(name: string): string {
  return name.slice(name.indexOf('/') + 1)
}

function statusText({ alarm, device, isActive, since }: StatusRow): string {
  return JSON.stringify({
    resourceIdentifier: formatCrn({ type: 'alarm', id: alarm }),
    deviceIdentifier: device,
    active: isActive,
    since,
  })
}
