import { deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { connectsSince } from '#actors/device/status'
import * as api from '#api/meta'
import { type Binding, bind } from '#http/call'
import { devicesWithin, reachesDevice } from '#model/scope'
import type { RouteContext } from '#routes/context'
import { deviceNames, existingDevice } from '#routes/devices'
import { listReply, mustMatch, streamHeaders, tagOf, textReply } from '#routes/replies'

/** Routes for device metadata and device records. */
export function metaRoutes(context: RouteContext): Binding[] {
  const { system } = context
  const text = (state: DeviceState, depth: number) => recordText(state, depth, context.startedAt)
  return [
    bind(api.listMeta, (call) => {
      const { caller, query } = call
      return listReply(context, call, {
        headers: streamHeaders(context, caller.tenant),
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
      // A weak tag, because the rest of the record may have changed.
      return textReply(context, text(state, query.depth ?? 1), { ETag: `W/${tagOf(metaText(state))}` })
    }),

    bind(api.patchMeta, async (call) => {
      const { caller, body: patch, bodyBytes } = call
      const { deviceIdentifier } = call.parameters
      const to = deviceAddress(caller.tenant, deviceIdentifier)
      await system.askAtOnce(() => {
        const before = system.peek(to)
        if (before) mustMatch(call, () => metaText(before))
        // The event contains all metadata of the device, even for a small patch.
        context.events.streamShare.take(caller, (before ? metaText(before).length : 0) + bodyBytes.byteLength)
        return { to, command: { type: 'patch_meta', patch }, bytes: bodyBytes.byteLength }
      })
      const state = existingDevice(context, caller.tenant, deviceIdentifier)
      const mayRead = reachesDevice(caller.scope, 'meta', 'read', deviceIdentifier)
      return textReply(context, mayRead ? text(state, 1) : JSON.stringify({ deviceIdentifier }))
    }),

    bind(api.deleteMetaKey, async (call) => {
      const { deviceIdentifier, key } = call.parameters
      const to = deviceAddress(call.caller.tenant, deviceIdentifier)
      await system.askAtOnce(() => {
        const before = system.peek(to)
        if (before) mustMatch(call, () => metaText(before))
        return { to, command: { type: 'delete_meta_key', key } }
      })
      return { status: 204 }
    }),
  ]
}

/** The part of a record that users change. The entity tag is computed from this part. */
function metaText({ meta }: DeviceState): string {
  return JSON.stringify(meta)
}

/** Contract 3.10: at depth 0 only the status and the time of the last message; from depth 1 on everything. */
function recordText(state: DeviceState, depth: number, startedAt: number): string {
  const { device: deviceIdentifier, status, lastMessage, lastConnect, meta } = state
  const short = { deviceIdentifier, status, lastMessage }
  const numConnects = connectsSince(state, startedAt)
  return JSON.stringify(depth < 1 ? short : { ...short, lastConnect, numConnects, meta })
}
