import type { Post } from '#actors/device/commands'
import { deviceAddress } from '#actors/device/device'
import { faultOfFirstPost } from '#actors/device/report'
import { tenantAddress } from '#actors/tenant/address'
import { postLink } from '#api/link'
import { linkProtocols } from '#link/codec'
import { declaredServices } from '#link/declaration'
import type { LinkOpening } from '#link/link'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'
import { lookAtDevice } from '#routes/looking'
import { type Binding, bind } from '#server/call'
import { type AnyWebsocketRoute, type UpgradeRequest, websocketRoute } from '#server/websocket-route'

/** Unsent bytes of one link: a full window of acknowledgements, and what else is said, many times over. */
const backpressureBytesMax = 1024 * 1024

/** Contract 7, POST /link: the link of devices that speak now and then. */
export function linkRoutes(context: RouteContext): Binding[] {
  const { system, intern, presence } = context
  return [
    bind(postLink, async ({ caller, body, bodyBytes }) => {
      const { tenant } = caller
      const { deviceIdentifier: device, session, seq } = body
      const post: Post = {
        type: 'post',
        session,
        seq,
        services: body.services && declaredServices(body.services, intern),
        updates: body.updates.map(({ serviceIdentifier, propId, value, timestamp }) => ({
          serviceIdentifier,
          propId,
          value,
          timestamp,
        })),
      }
      const isNew = lookAtDevice(context, tenant, device) === undefined
      if (isNew && !post.services && post.updates.length > 0) {
        const details = [{ path: 'services', message: 'is needed from a device that is not known yet' }]
        throw new Problem('invalid', undefined, { details })
      }
      const fault = isNew ? faultOfFirstPost(device, post) : undefined
      if (fault) throw fault
      // In one breath: the tenant admits it, then it speaks.
      const admitted = isNew ? system.ask(tenantAddress(tenant), { type: 'admit_device', device, meta: {} }) : undefined
      const posted = new Promise((answered, refused) =>
        system.turn(deviceAddress(tenant, device), post, { answered, refused }, bodyBytes.byteLength),
      )
      await Promise.all([admitted, posted])
      presence.posted(tenant, device)
      return { status: 204 }
    }),
  ]
}

/** `GET /link`. Contract 7. */
export function linkSocket(
  { links }: RouteContext,
  tenantOf: (request: UpgradeRequest) => string,
  frameBytesMax: number,
): AnyWebsocketRoute {
  return websocketRoute<LinkOpening>({
    path: '/link',
    room: links,
    protocols: Object.keys(linkProtocols),
    maxPayloadBytes: frameBytesMax,
    maxBackpressureBytes: backpressureBytesMax,
    upgrade: (request) => ({
      tenant: tenantOf(request),
      protocol: linkProtocols[request.protocol as keyof typeof linkProtocols],
    }),
  })
}
