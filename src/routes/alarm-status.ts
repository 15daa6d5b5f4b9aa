import { alarmIndex } from '#actors/device/alarms'
import { deviceAddress } from '#actors/device/device'
import type { AlarmStatusQuery } from '#api/alarms'
import { nameOfCursor } from '#api/query-field'
import type { Call, Reply } from '#http/call'
import { formatCrn } from '#model/crn'
import { devicesWithin } from '#model/scope'
import type { RouteContext } from '#routes/context'
import { listReply } from '#routes/list-reply'
import { streamHeaders } from '#routes/stream-position'
import { namesOf, type Pages } from '#runtime/listing'

/** A row of the list: one alarm on one device. */
interface StatusRow {
  readonly alarm: string
  readonly device: string
  readonly isActive: boolean
  readonly since: number
}

/**
 * On which devices alarms are or were active: what their events come to, for who may hear them. Contract 5.3. A row goes
 * by its device alone, as the events do, so that a dashboard which folds these onto the list has the list of later.
 */
export function statusList(context: RouteContext, call: Call<unknown, AlarmStatusQuery>): Promise<Reply> {
  const { caller, query } = call
  const { tenant, scope } = caller
  // Before the names: what is listed after it is at least what had been told by then.
  const headers = streamHeaders(context, tenant)
  const isWithin = devicesWithin(scope, 'alarms', 'read')
  const shownRow = (name: string) => {
    const row = rowOf(context, tenant, name)
    return row && (query.active === undefined || row.isActive === query.active) ? row : undefined
  }
  const asked = query.deviceIdentifier && new Set(query.deviceIdentifier)
  return listReply(context, call, headers, {
    limit: query.limit,
    names: rowNames(context, tenant, nameOfCursor(query.cursor), asked),
    isShown: (name) => (asked?.has(deviceIn(name)) ?? true) && isWithin(deviceIn(name)),
    isMeant: query.active === undefined ? undefined : (name) => shownRow(name) !== undefined,
    textOf: (name) => {
      const row = shownRow(name)
      return row && textOf(row)
    },
  })
}

/** Of so many devices each is looked at; of more the index is gone through, in slices. */
const lookedAtMax = 100

/** `<alarm>/<device>`, in order; of others than those asked for as well, where there are many of these. */
function rowNames(context: RouteContext, tenant: string, after: string, asked: ReadonlySet<string> | undefined): Pages {
  if (!asked || asked.size > lookedAtMax) return context.listing.entries(alarmIndex, tenant, '', after)
  const names = [...asked].flatMap((device) => {
    const alarms = [...(context.system.look(deviceAddress(tenant, device))?.alarms ?? [])]
    return alarms.filter(([, { since }]) => since > 0).map(([alarm]) => `${alarm}/${device}`)
  })
  return namesOf(names.filter((name) => name > after).sort())
}

/** Undefined where the alarm never was active, or ended. */
function rowOf(context: RouteContext, tenant: string, name: string): StatusRow | undefined {
  const [alarm, device] = [name.slice(0, name.indexOf('/')), deviceIn(name)]
  const stands = context.system.look(deviceAddress(tenant, device))?.alarms.get(alarm)
  return stands && stands.since > 0 ? { alarm, device, isActive: stands.isActive, since: stands.since } : undefined
}

function deviceIn(name: string): string {
  return name.slice(name.indexOf('/') + 1)
}

function textOf({ alarm, device, isActive, since }: StatusRow): string {
  return JSON.stringify({
    resourceIdentifier: formatCrn({ type: 'alarm', id: alarm }),
    deviceIdentifier: device,
    active: isActive,
    since,
  })
}
