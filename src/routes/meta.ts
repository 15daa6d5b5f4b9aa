import { deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { connectsSince } from '#actors/device/status'
import * as api from '#api/meta'
import { type Binding, bind } from '#http/call'
import { devicesWithin, reachesDevice } from '#model/scope'
import type { RouteContext } from '#routes/context'
import { deviceNames, existingDevice } from '#routes/devices'
import { listReply, streamHeaders } from '#routes/list-reply'
import { textReply } from '#routes/streamed-reply'

/** Routes for device metadata and device records. */
export function metaRoutes(context: RouteContext): Binding[] {
  const { system } = context
  const text = (state: DeviceState, depth: number) => recordText(state, depth, context.startedAt)
  return [
    bind(api.listMeta, (call) => {
      const { caller, query } = call
      const headers = streamHeaders(context, caller.tenant)
      return listReply(context, call, headers, {
        limit: query.limit,
        names: deviceNames(context, caller.tenant, query),
        isShown: devicesWithin(caller.scope, 'meta', 'read'),
        isMatching:
          query.deviceIdentifier &&
          ((device) => context.system.peek(deviceAddress(caller.tenant, device)) !== undefined),
        textOf: (device) => {
          const state = context.system.peek(deviceAddress(caller.tenant, device))
          return state && text(state, query.depth ?? 0)
        },
      })
    }),

    bind(api.readMeta, ({ caller, parameters: { deviceIdentifier }, query }) => {
      const state = existingDevice(context, caller.tenant, deviceIdentifier)
      return textReply(context, text(state, query.depth ?? 1))
    }),

    bind(api.patchMeta, async ({ caller, parameters: { deviceIdentifier }, body: patch, bodyBytes }) => {
      const before = context.system.peek(deviceAddress(caller.tenant, deviceIdentifier))
      // The event contains the whole record, even for a small patch.
      const recordBytes = JSON.stringify(before?.meta ?? {}).length + bodyBytes.byteLength
      context.streamShare.take(caller, recordBytes)
      await system.ask(
        deviceAddress(caller.tenant, deviceIdentifier),
        { type: 'patch_meta', patch },
        bodyBytes.byteLength,
      )
      const state = existingDevice(context, caller.tenant, deviceIdentifier)
      const mayRead = reachesDevice(caller.scope, 'meta', 'read', deviceIdentifier)
      return textReply(context, mayRead ? text(state, 1) : JSON.stringify({ deviceIdentifier }))
    }),

    bind(api.deleteMetaKey, async ({ caller, parameters: { deviceIdentifier, key } }) => {
      await system.ask(deviceAddress(caller.tenant, deviceIdentifier), { type: 'delete_meta_key', key })
      return { status: 204 }
    }),
  ]
}

/** Contract 3.10: without depth, only the device's connection state. */
function recordText(state: DeviceState, depth: number, startedAt: number): string {
  const { device: deviceIdentifier, status, lastMessage, lastConnect, meta } = state
  const short = { deviceIdentifier, status, lastMessage }
  const numConnects = connectsSince(state, startedAt)
  return JSON.stringify(depth < 1 ? short : { ...short, lastConnect, numConnects, meta })
}
