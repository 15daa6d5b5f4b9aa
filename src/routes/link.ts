import type { Identity } from '#access/identity'
import type { Post } from '#actors/device/commands'
import { newShapeCount } from '#actors/device/declaration'
import { deviceAddress } from '#actors/device/device'
import { faultOfFirstPost } from '#actors/device/report'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import { defaultTenant } from '#actors/tenant/state'
import { postLink } from '#api/link'
import { type AnyWebsocketRoute, type Binding, bind, websocketRoute } from '#http/call'
import { linkCodecs } from '#link/codecs'
import { declaredServices, tooManyShapes } from '#link/declaration'
import type { ConnectionCredentials } from '#link/device-port'
import type { LinkOpening } from '#link/link'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'

/**
 * The limit of unsent bytes of one device connection: many times a full window of acknowledgements and other messages.
 */
const backpressureBytesMax = 1024 * 1024

/** Finds the caller to whom credentials belong; absent with authentication off. */
type LinkIdentity = Pick<Identity, 'linkCaller'>

/** Contract 7, POST /link: for devices that report from time to time. */
export function linkRoutes(context: RouteContext, identity?: LinkIdentity): Binding[] {
  return [
    bind(postLink, async (call) => {
      const { system } = context
      const { intern, presence, links } = context.devices
      const { body, bodyBytes } = call
      const { deviceIdentifier: device, session, seq } = body
      const credentials = credentialsOf(identity, call)
      const { tenant } = credentials
      const notAllowed = links.port.whyNotPermitted(credentials, device)
      if (notAllowed) throw notAllowed
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
      let admitted: Promise<unknown> | undefined
      const posted = system.askAtOnce(() => {
        const before = context.system.peek(deviceAddress(tenant, device))
        if (!before) checkFirstPost(context, credentials, device, post)
        if (!links.declarations.take(tenant, device, newShapeCount(before, post.services ?? []))) {
          throw new Problem('too_many_requests', tooManyShapes(device), { headers: { 'Retry-After': '60' } })
        }
        // The device is admitted in the commit of the post. It gets no secret, because the answer has no body.
        const { key } = credentials
        const admit: TenantCommand = { type: 'admit_device', device, meta: {}, ...(key !== undefined && { key }) }
        if (!before) admitted = system.ask(tenantAddress(tenant), admit)
        return { to: deviceAddress(tenant, device), command: post, bytes: bodyBytes.byteLength }
      })
      await Promise.all([admitted, posted])
      presence.reportedByHttp(tenant, device)
      return { status: 204 }
    }),
  ]
}

/** Checks the first post of an unknown device. @throws Problem if the post may not create the device */
function checkFirstPost(
  { devices: { memory } }: RouteContext,
  { tenant, device: own }: ConnectionCredentials,
  device: string,
  post: Post,
): void {
  if (!post.services && post.updates.length > 0) {
    const details = [{ path: 'services', message: 'is needed from a device that is not known yet' }]
    throw new Problem('invalid', undefined, { details })
  }
  const fault = faultOfFirstPost(device, post, tenant, memory)
  if (fault) throw fault
  // The credentials belong to a device that existed before: it was deleted since.
  if (own !== undefined) throw new Problem('forbidden')
}

/** `GET /link`. Contract 7. */
export function linkSocket(
  { devices: { links } }: RouteContext,
  identity: LinkIdentity | undefined,
  frameBytesMax: number,
): AnyWebsocketRoute {
  return websocketRoute<LinkOpening>({
    path: '/link',
    handler: links,
    protocols: Object.keys(linkCodecs),
    maxPayloadBytes: frameBytesMax,
    maxBackpressureBytes: backpressureBytesMax,
    upgrade: (request) => ({
      ...credentialsOf(identity, request),
      codec: linkCodecs[request.protocol as keyof typeof linkCodecs],
      origin: request.forwarded.origins[0] ?? '',
    }),
  })
}

/** With authentication off, no credentials are required, and sent ones are ignored. @throws Problem `unauthorized` */
function credentialsOf(
  identity: LinkIdentity | undefined,
  request: { header(name: string): string },
): ConnectionCredentials {
  return identity ? identity.linkCaller(request.header('authorization')) : { tenant: defaultTenant }
}
