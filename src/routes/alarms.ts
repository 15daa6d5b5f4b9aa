import { isDeepStrictEqual } from 'node:util'
import { alarmIndex, alarmLogIndex, alarmLogNames, alarmLogRowOf } from '#actors/device/alarms'
import { deviceAddress } from '#actors/device/device'
import type { AlarmState } from '#actors/device/state'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/alarms'
import { nameOfCursor } from '#api/fields'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { type AlarmBody, alarmEntryOf, type StoredAlarm } from '#model/alarm'
import type { Caller } from '#model/caller'
import { formatCrn } from '#model/crn'
import { randomId, seededRandom } from '#model/identifier'
import { Problem } from '#model/problem'
import { type Action, devicesWithin, reachesDevice, servicesWithin } from '#model/scope'
import { logReply } from '#routes/audit'
import { authorOf, checkBindings, isVisible, membersIn, replyToChange } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { listReply, streamHeaders } from '#routes/replies'
import { tenantResources } from '#routes/tenant-resources'
import { unknownNamesIn } from '#rules/property-name'
import { namesOf, type Pages } from '#runtime/storage'

/** Routes for alarms. Contract 5.1, 5.3. */
export function alarmRoutes(context: RouteContext): Binding[] {
  const { system } = context
  const alarms = tenantResources<StoredAlarm>(context, {
    path: '/alarms',
    all: (tenant) => tenant.alarms,
    isVisible: ({ scope }, action, alarm, tenant) => isVisible(scope, 'alarms', action, alarm, membersIn(tenant)),
    entryOf: alarmEntryOf,
  })
  return [
    bind(api.listAlarms, alarms.list),

    // The state of alarms on devices, and its history. As for events, access depends on the device. Contract 12.
    bind(api.listAlarmStatus, (call) => statusList(context, call)),

    bind(api.listAlarmHistory, (call) => historyList(context, call)),

    bind(api.acknowledgeAlarm, async ({ caller, body, bodyBytes, parameters }) => {
      const { tenant, scope, user } = caller
      const { alarmId: alarm, deviceIdentifier: device } = parameters
      const state = await system.askAtOnce(() => {
        if (!reachesDevice(scope, 'alarms', 'update', device)) throw new Problem('not_found')
        context.events.streamShare.take(caller, bodyBytes.byteLength)
        const command = { type: 'acknowledge_alarm', alarm, by: user, comment: body.comment || undefined } as const
        return { to: deviceAddress(tenant, device), command, bytes: bodyBytes.byteLength }
      })
      const row = entryOf(context, tenant, { alarm, device, state: state as AlarmState })
      return replyToChange(reachesDevice(scope, 'alarms', 'read', device), row, 'resourceIdentifier')
    }),

    bind(api.createAlarm, async (call) => {
      const { caller, body, bodyBytes, seed } = call
      const id = randomId(seededRandom(seed))
      const stored = await system.askAtOnce(() => {
        checkMayBind(context, caller, 'create', body)
        mustReadNames(caller, body)
        context.events.streamShare.take(caller, bodyBytes.byteLength)
        const put: TenantCommand = { type: 'put_alarm', id, isNew: true, body, ...authorOf(caller, 'alarms') }
        return { to: tenantAddress(caller.tenant), command: put, bytes: bodyBytes.byteLength }
      })
      return alarms.created(call, id, stored)
    }),

    bind(api.readAlarm, (call) => alarms.read(call, call.parameters.alarmId)),

    bind(api.putAlarm, async (call) => {
      const { caller, body, bodyBytes } = call
      const { alarmId: id } = call.parameters
      const stored = await system.askAtOnce(() => {
        const before = alarms.existing(caller, 'update', id)
        checkMayBind(context, caller, 'update', body)
        if (!isDeepStrictEqual(body.condition, before.condition)) mustReadNames(caller, body)
        alarms.mustMatchTag(call, id, before)
        context.events.streamShare.take(caller, bodyBytes.byteLength)
        const put: TenantCommand = { type: 'put_alarm', id, isNew: false, body, ...authorOf(caller, 'alarms') }
        return { to: tenantAddress(caller.tenant), command: put, bytes: bodyBytes.byteLength }
      })
      return alarms.changed(call, id, stored)
    }),

    bind(api.deleteAlarm, (call) => {
      const { alarmId: id } = call.parameters
      return alarms.remove(call, id, { type: 'delete_alarm', id })
    }),
  ]
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

/** A row of the list: one alarm on one device. */
interface StatusRow {
  readonly alarm: string
  readonly device: string
  readonly state: AlarmState
}

/**
 * Lists the devices on which alarms are or were active. This is the state that results from the events of the alarms,
 * for callers that receive these events. Access to a row depends only on its device, as for an event. So a client that
 * applies the events to the list has the same list as a later request returns.
 */
function statusList(context: RouteContext, call: Call<unknown, api.AlarmStatusQuery>): Promise<Reply> {
  const { caller, query } = call
  const { tenant, scope } = caller
  // Read before the names: the list then contains at least all events up to this position.
  const headers = streamHeaders(context, tenant)
  const isWithin = devicesWithin(scope, 'alarms', 'read')
  const shownRow = (name: string) => {
    const row = rowOf(context, tenant, name)
    return row && (query.active === undefined || row.state.isActive === query.active) ? row : undefined
  }
  const requested = query.deviceIdentifier && new Set(query.deviceIdentifier)
  return listReply(context, call, {
    headers,
    names: rowNames(context, tenant, nameOfCursor(query.cursor), requested),
    isShown: (name) => (requested?.has(deviceIn(name)) ?? true) && isWithin(deviceIn(name)),
    isMatching: query.active === undefined ? undefined : (name) => shownRow(name) !== undefined,
    textOf: (name) => {
      const row = shownRow(name)
      return row && JSON.stringify(entryOf(context, tenant, row))
    },
  })
}

/** Up to this many devices are read one by one; for more, the index is scanned in slices. */
const singleReadsMax = 100

/** Names `<alarm>/<device>`, in order. If many devices are requested, other devices are included too. */
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

/** Undefined if the alarm was never active on the device, or its state was removed. */
function rowOf(context: RouteContext, tenant: string, name: string): StatusRow | undefined {
  const [alarm, device] = [name.slice(0, name.indexOf('/')), deviceIn(name)]
  const state = context.system.peek(deviceAddress(tenant, device))?.alarms.get(alarm)
  return state && state.since > 0 ? { alarm, device, state } : undefined
}

function deviceIn(name: string): string {
  return name.slice(name.indexOf('/') + 1)
}

function entryOf({ system }: RouteContext, tenant: string, { alarm, device, state }: StatusRow) {
  const severity = system.wake(tenantAddress(tenant)).alarms.get(alarm)?.severity
  return {
    resourceIdentifier: formatCrn({ type: 'alarm', id: alarm }),
    deviceIdentifier: device,
    active: state.isActive,
    since: state.since,
    ...(severity && { severity }),
    acknowledged: state.acknowledged ?? null,
  }
}

/** The history of alarms, newest first. It also contains devices and alarms that were deleted since. */
function historyList(context: RouteContext, call: Call<unknown, api.AlarmHistoryQuery>): Promise<Reply> {
  const { alarmId, deviceIdentifier } = call.query
  const isWithin = devicesWithin(call.caller.scope, 'alarms', 'read')
  const requested = deviceIdentifier && new Set(deviceIdentifier)
  return logReply(context, call, alarmLogIndex, {
    isShown: (entry) => {
      const { alarm, device } = alarmLogNames(entry)
      return (alarmId ?? alarm) === alarm && (requested?.has(device) ?? true) && isWithin(device)
    },
    textOf: (entry) => {
      const { alarm, device } = alarmLogNames(entry)
      const resourceIdentifier = formatCrn({ type: 'alarm', id: alarm })
      return JSON.stringify({ resourceIdentifier, deviceIdentifier: device, ...alarmLogRowOf(entry) })
    },
  })
}
