import { deviceAddress } from '#actors/device/device'
import { firmwareIndex, isFirmwareKnown } from '#actors/device/firmware-index'
import type { DeviceState } from '#actors/device/state'
import {
  type PublishedUpdate,
  publishedStateAt,
  type StoredUpdate,
  updateAddress,
  updateRecord,
} from '#actors/update/state'
import type { ListQuery } from '#api/fields'
import * as api from '#api/updates'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import type { Firmware } from '#model/entry'
import type { FirmwareEntry, FirmwareInformation, UpdateEntry, UpdateStatus } from '#model/firmware'
import { Problem } from '#model/problem'
import { devicesWithin } from '#model/scope'
import type { UpdateQuery } from '#model/update-offer'
import type { RouteContext } from '#routes/context'
import { deviceNames } from '#routes/devices'
import { checkCurrent } from '#routes/read-slices'
import { listReply, streamHeaders, textReply } from '#routes/replies'

/** Routes for the firmware of devices. §4.5, contract 6. */
export function updateRoutes(context: RouteContext): Binding[] {
  return [
    bind(api.listUpdates, (call) => list(context, call)),
    bind(api.readUpdate, (call) => read(context, call, call.parameters.deviceIdentifier)),
    bind(api.triggerUpdate, async ({ caller, parameters, seed, signal }) => {
      const { tenant } = caller
      const json = await context.firmware.updater.trigger({ tenant, device: parameters.deviceIdentifier, seed, signal })
      return { status: 200, json }
    }),
  ]
}

/** From this depth on, results of updates are included. */
const updateDepth = 2

/** A single answer waits this long for the update server; a list does not wait. */
const freshWaitMs = 2000

function list(context: RouteContext, call: Call<unknown, ListQuery>): Promise<Reply> {
  const { caller, query } = call
  const { tenant } = caller
  const depth = query.depth ?? 0
  const known = (device: string) => knownDevice(context, tenant, device)
  const devicesWithFirmware = (after: string) => context.listing.entries(firmwareIndex, tenant, '', after)
  return listReply(context, call, {
    headers: streamHeaders(context, tenant),
    names: deviceNames(context, tenant, query, devicesWithFirmware),
    isShown: devicesWithin(caller.scope, 'updates', 'read'),
    isMatching: query.deviceIdentifier && ((device) => known(device) !== undefined),
    textOf: (device) => {
      const state = known(device)
      return state && JSON.stringify(informationOf(context, tenant, state, depth))
    },
  })
}

async function read(context: RouteContext, call: Call<unknown, ListQuery>, device: string): Promise<Reply> {
  const { tenant } = call.caller
  const depth = call.query.depth ?? 1
  const before = existingUpdates(context, tenant, device)
  if (depth > 0) {
    const updateQueries = queriesOf(tenant, before)
    await Promise.all(updateQueries.map((updateQuery) => context.firmware.checks.freshOf(updateQuery, freshWaitMs)))
    checkCurrent(call.caller)
  }
  const state = depth > 0 ? existingUpdates(context, tenant, device) : before
  return textReply(context, JSON.stringify(informationOf(context, tenant, state, depth)))
}

/** Undefined if there is nothing to show. */
function knownDevice(context: RouteContext, tenant: string, device: string): DeviceState | undefined {
  const state = context.system.peek(deviceAddress(tenant, device))
  return state && isFirmwareKnown(state) ? state : undefined
}

/** @throws Problem `not_found` */
function existingUpdates(context: RouteContext, tenant: string, device: string): DeviceState {
  const state = knownDevice(context, tenant, device)
  if (!state) throw new Problem('not_found')
  return state
}

function informationOf(context: RouteContext, tenant: string, state: DeviceState, depth: number): FirmwareInformation {
  const { device: deviceIdentifier, project, firmwares } = state
  if (depth < 1) return { deviceIdentifier, project }
  const stored =
    depth < updateDepth
      ? undefined
      : (context.system.recordOf(updateAddress(tenant, deviceIdentifier), updateRecord) as StoredUpdate | undefined)
  return {
    deviceIdentifier,
    project,
    firmwares: [...firmwares]
      .sort((one, next) => one.index - next.index)
      .map((firmware) => firmwareEntryOf(context, tenant, state, firmware, stored)),
  }
}

function firmwareEntryOf(
  { firmware: { checks } }: RouteContext,
  tenant: string,
  { device, project }: DeviceState,
  firmware: Firmware,
  stored: StoredUpdate | undefined,
): FirmwareEntry {
  const updateAvailable = project !== null && (checks.knownOf(questionOf(tenant, device, project, firmware)) ?? false)
  const summary = stored && publishedStateAt(stored, firmware.index)
  return { ...firmware, updateAvailable, ...(summary && { update: updateEntryOf(summary) }) }
}

/** The state of an update, in the form of its events. */
function updateEntryOf({ index: _, status, ...summary }: PublishedUpdate): UpdateEntry {
  return { ...summary, status: status.toUpperCase() as UpdateStatus }
}

function queriesOf(tenant: string, { device, project, firmwares }: DeviceState): readonly UpdateQuery[] {
  return project === null ? [] : firmwares.map((firmware) => questionOf(tenant, device, project, firmware))
}

/** The question to the update server. An update is available if a manual request would start one. */
function questionOf(tenant: string, device: string, project: string, of: Firmware): UpdateQuery {
  const { firmware, hardware, index } = of
  return { tenant, device, project, firmware, index, isAutomatic: false, ...(hardware !== undefined && { hardware }) }
}
