import { BoundedMap } from '#access/bounded-map'
import { ownerOfToken } from '#access/link-credentials'
import { hashOf, newSecret, tokenHash } from '#access/secret-text'
import type { DeviceRemoved } from '#actors/device/commands'
import { deviceAddress, registrarRecord, tokenRecord } from '#actors/device/device'
import { endingsMax } from '#actors/device/evaluation'
import { metaMemoryProblem } from '#actors/device/memory'
import type { ServiceState } from '#actors/device/service-state'
import { type DeviceState, serviceOf } from '#actors/device/state'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/devices'
import { type ListQuery, nameOfCursor, type StateQuery } from '#api/fields'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { alarmsMax } from '#model/alarm'
import type { Caller } from '#model/caller'
import type { Condition } from '#model/condition'
import type { JsonObject } from '#model/json-value'
import { Problem } from '#model/problem'
import { devicesWithin, reachesDevice } from '#model/scope'
import { schemasFor } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { etagOf, listReply, notModified, partsReply, streamHeaders } from '#routes/replies'
import { formOf, fullDepth, StateText } from '#routes/state-text'
import { compileFilter, type DeviceFilter, deviceWithName, type FilterSource } from '#rules/device-filter'
import { namesOf, type Pages } from '#runtime/storage'

/** Routes for devices. */
export function deviceRoutes(context: RouteContext): Binding[] {
  const filters = new DeviceFilters()
  return [
    bind(api.listDevices, (call) => list(context, call, filters)),
    bind(api.createDevice, (call) => create(context, call, call.body)),
    bind(api.readDevice, (call) => {
      const { state, text } = readable(context, call, call.parameters, call.query)
      return partsReply(context, call, text.device(state))
    }),
    bind(api.readConnection, ({ caller, parameters: { deviceIdentifier } }) => {
      existingDevice(context, caller.tenant, deviceIdentifier)
      const link = context.devices.links.linkedOf(caller.tenant, deviceIdentifier)?.link
      const protocol = link ? (link.opening.isMqtt ? 'mqtt' : 'websocket') : null
      return { status: 200, json: { protocol } }
    }),
    bind(api.deleteDevice, (call) => remove(context, call, call.parameters.deviceIdentifier)),
    bind(api.rotateDeviceSecret, (call) => rotate(context, call, call.parameters.deviceIdentifier)),
    bind(api.setDeviceToken, (call) => setToken(context, call, call.parameters.deviceIdentifier, call.body?.token)),
    bind(api.listDeviceServices, (call) => {
      const { state, text } = readable(context, call, call.parameters, call.query)
      return partsReply(context, call, text.services(state))
    }),
    bind(api.readDeviceService, (call) => {
      const { service, text } = readableService(context, call, call.parameters, call.query)
      return partsReply(context, call, text.serviceOfDevice(service))
    }),
    bind(api.readDeviceProperties, (call) => {
      const { service, text } = readableService(context, call, call.parameters, call.query)
      return partsReply(context, call, text.properties(service))
    }),
  ]
}

/** A device, and the text of its state for the caller. @throws Problem `not_found` */
function readable(
  context: RouteContext,
  { caller }: Call,
  { deviceIdentifier }: { readonly deviceIdentifier: string },
  query: StateQuery,
): { readonly state: DeviceState; readonly text: StateText } {
  const state = existingDevice(context, caller.tenant, deviceIdentifier)
  return {
    state,
    text: new StateText(caller, context.system.wake(tenantAddress(caller.tenant)), formOf(query, fullDepth)),
  }
}

/** A service of a device, and the text of its state for the caller. @throws Problem `not_found` */
export function readableService(
  context: RouteContext,
  call: Call,
  parameters: { readonly deviceIdentifier: string; readonly serviceIdentifier: string },
  query: StateQuery,
): { readonly service: ServiceState; readonly text: StateText } {
  const { state, text } = readable(context, call, parameters, query)
  const service = serviceOf(state, parameters.serviceIdentifier)
  if (!service) throw new Problem('not_found')
  return { service, text }
}

/** The devices that the query names, sorted, existing or not. If it names none: those that `listed` returns. */
export function deviceNames(
  { listing }: RouteContext,
  tenant: string,
  query: ListQuery,
  listed = (after: string) => listing.actors('device', tenant, after),
): Pages {
  const after = nameOfCursor(query.cursor)
  if (!query.deviceIdentifier) return listed(after)
  const requested = [...new Set(query.deviceIdentifier)].sort()
  return namesOf(requested.filter((device) => device > after))
}

async function list(
  context: RouteContext,
  call: Call<unknown, api.DeviceListQuery>,
  filters: DeviceFilters,
): Promise<Reply> {
  const { caller, query } = call
  const filter = query.filter === undefined ? undefined : filters.of(query.filter)
  const unchanged = notModified(context, call)
  if (unchanged) return unchanged
  const headers = { ...streamHeaders(context, caller.tenant), ETag: etagOf(context, call) }
  const text = new StateText(caller, context.system.wake(tenantAddress(caller.tenant)), formOf(query, 0))
  const find = deviceFinder(context, caller, text, filter)
  return listReply(context, call, {
    headers,
    names: namesIn(context, call),
    isShown: devicesWithin(caller.scope, 'service', 'read'),
    isMatching: filter || query.deviceIdentifier || query.search ? (device) => find(device) !== undefined : undefined,
    textOf: (device) => {
      const state = find(device)
      return state && text.device(state)
    },
  })
}

/** The devices that the query names or searches; if it does both, the named devices that match the search. */
function namesIn(context: RouteContext, { caller, query }: Call<unknown, api.DeviceListQuery>): Pages {
  if (!query.search) return deviceNames(context, caller.tenant, query)
  const { deviceIdentifier: named } = query
  return context.devices.search.matches(caller, query.search, nameOfCursor(query.cursor), named && new Set(named))
}

async function create(
  context: RouteContext,
  { caller }: Call,
  {
    deviceIdentifier: device,
    meta = {},
  }: { readonly deviceIdentifier: string; readonly meta?: JsonObject | undefined },
): Promise<Reply> {
  const { system } = context
  const { tenant } = caller
  // Outside the caller's devices, the answer does not show whether the device exists. Contract 1.4.
  if (!reachesDevice(caller.scope, 'device', 'create', device)) throw new Problem('not_found')
  const secret = newSecret((byteCount) => context.world.random(byteCount))
  await system.askAtOnce(() => {
    if (context.system.peek(deviceAddress(tenant, device))) throw new Problem('conflict', 'the device exists')
    const fault = metaMemoryProblem(device, meta, tenant, context.devices.memory)
    if (fault) throw fault
    const admit: TenantCommand = { type: 'admit_device', device, meta, secretHash: hashOf(secret) }
    return { to: tenantAddress(tenant), command: admit }
  })
  const headers = { Location: `/api/v1/devices/${encodeURIComponent(device)}`, 'Cache-Control': 'no-store' }
  return { status: 201, headers, json: { deviceIdentifier: device, secret } }
}

async function remove(context: RouteContext, { caller }: Call, device: string): Promise<Reply> {
  const { system } = context
  const to = deviceAddress(caller.tenant, device)
  // Ends all active alarms of the device. A device that keeps reporting may activate some again.
  for (let turns = 0; turns < alarmsMax / endingsMax; turns++) {
    if (!(await system.ask(to, { type: 'end_alarms' }))) break
  }
  // With these records, the removal lets the key that admitted the device admit another one, and frees the token.
  const removed = await system.askAtOnce(() => {
    const registrar = system.recordOf(to, registrarRecord) as string | undefined
    const token = system.recordOf(to, tokenRecord) as string | undefined
    const records = { ...(registrar !== undefined && { registrar }), ...(token !== undefined && { token }) }
    return { to, command: { type: 'remove', ...records } }
  })
  const { flakeAddress } = removed as DeviceRemoved
  context.devices.links.removed(caller.tenant, device, flakeAddress)
  return { status: 204 }
}

async function rotate(context: RouteContext, { caller }: Call, device: string): Promise<Reply> {
  existingDevice(context, caller.tenant, device)
  const secret = newSecret((byteCount) => context.world.random(byteCount))
  await context.system.ask(deviceAddress(caller.tenant, device), { type: 'set_secret', hash: hashOf(secret) })
  context.devices.links.credentialsChanged(caller.tenant, device)
  const headers = { 'Cache-Control': 'no-store' }
  return { status: 200, headers, json: { deviceIdentifier: device, secret } }
}

/** Contract 10. If the device had another token, connections with credentials of this device are closed. */
async function setToken(
  context: RouteContext,
  { caller }: Call,
  device: string,
  token = newSecret((byteCount) => context.world.random(byteCount)),
): Promise<Reply> {
  const { system } = context
  const { tenant } = caller
  existingDevice(context, tenant, device)
  const to = deviceAddress(tenant, device)
  const hash = tokenHash(token)
  const before = system.recordOf(to, tokenRecord) as string | undefined
  await system.askAtOnce(() => {
    const owner = ownerOfToken(system, hash)
    const isOwn = owner === undefined || (owner.tenant === tenant && owner.device === device)
    if (!isOwn) throw new Problem('conflict', 'another device has this token')
    const stored = system.recordOf(to, tokenRecord) as string | undefined
    return { to, command: { type: 'set_token', hash, ...(stored !== undefined && { before: stored }) } }
  })
  if (before !== undefined && before !== hash) context.devices.links.credentialsChanged(tenant, device)
  const headers = { 'Cache-Control': 'no-store' }
  return { status: 200, headers, json: { deviceIdentifier: device, token } }
}

/** @throws Problem `not_found` if there is no such device */
export function existingDevice({ system }: RouteContext, tenant: string, device: string): DeviceState {
  const state = system.peek(deviceAddress(tenant, device))
  if (!state) throw new Problem('not_found')
  return state
}

/** Enough for a few clients that alternate. A filter takes up to about 10 KB. */
const filtersMax = 64

/** Recently used filters: the next page and a repeated request use the same filter. */
export class DeviceFilters {
  readonly #compiled = new BoundedMap<string, DeviceFilter>(filtersMax)

  /** @throws Problem `invalid` for unknown names in the condition */
  of(condition: Condition): DeviceFilter {
    const text = JSON.stringify(condition)
    const filter = this.#compiled.get(text) ?? compileFilter(condition)
    // Added again, so that it is the last one to be dropped.
    this.#compiled.set(text, filter)
    return filter
  }
}

/**
 * Returns a function that finds a device: its current state, or undefined if it does not exist or does not match the
 * filter. The device is not activated.
 */
export function deviceFinder(
  context: RouteContext,
  caller: Caller,
  { mayRead }: Pick<StateText, 'mayRead'>,
  filter: DeviceFilter | undefined,
): (device: string) => DeviceState | undefined {
  const { tenant, scope } = caller
  if (!filter) return (device) => context.system.peek(deviceAddress(tenant, device))
  const source: FilterSource = {
    tenant: { schemas: schemasFor(caller, context.system.wake(tenantAddress(tenant))) },
    mayReadService: mayRead,
    mayReadMeta: devicesWithin(scope, 'meta', 'read'),
  }
  if (!filter.needsState) {
    return (device) =>
      filter.matches(deviceWithName(device), source) ? context.system.peek(deviceAddress(tenant, device)) : undefined
  }
  return (device) => {
    const state = context.system.peek(deviceAddress(tenant, device))
    return state && filter.matches(state, source) ? state : undefined
  }
}
