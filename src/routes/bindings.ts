import { anonymous } from '#access/built-in-callers'
import type { Identity } from '#access/identity'
import type { AnyWebsocketRoute, Binding } from '#http/call'
import { alarmRoutes } from '#routes/alarms'
import { auditRoutes } from '#routes/audit'
import { type BackupMaker, backupRoutes } from '#routes/backup'
import { handOverRoute } from '#routes/cluster'
import type { RouteContext } from '#routes/context'
import { deviceRoutes } from '#routes/devices'
import { type EventSocketHandler, type EventSocketParts, eventRoutes, eventSockets } from '#routes/events'
import { functionRoutes } from '#routes/functions'
import { groupRoutes } from '#routes/groups'
import { type HealthOptions, healthRoutes } from '#routes/health'
import { historyRoutes } from '#routes/history'
import { historySelectionRoutes } from '#routes/history-selection'
import { apiKeyRoutes, jwksRoutes, provisioningKeyRoutes, signingKeyRoutes } from '#routes/keys'
import { linkRoutes, linkSocket } from '#routes/link'
import { metaRoutes } from '#routes/meta'
import { withNames } from '#routes/names'
import { notificationRoutes } from '#routes/notifications'
import { releaseRoutes } from '#routes/releases'
import { roleRoutes } from '#routes/roles'
import { schemaRoutes } from '#routes/schemas'
import { serviceRoutes } from '#routes/services'
import { identityRoutes, sessionRoutes } from '#routes/sessions'
import { secondFactorRoutes, signInRoutes } from '#routes/sign-in'
import { templateRoutes } from '#routes/templates'
import { tenantRoutes } from '#routes/tenants'
import { rolloutRoutes, updateProjectRoutes } from '#routes/update-projects'
import { updateRoutes } from '#routes/updates'
import { userRoutes } from '#routes/users'
import { writeRoutes } from '#routes/writes'

/** Data for routes about the process itself. */
export interface OperationOptions extends HealthOptions {
  readonly backups: BackupMaker
  /**
   * Makes another node the owner. Absent: this server is not a node of a cluster. @throws Problem `not_found`,
   * `conflict`
   */
  readonly handOver?: ((node: string) => void) | undefined
}

/** All routes below `/api/v1`. `identity` undefined: authentication is off. */
export function bindingsOf(
  context: RouteContext,
  identity: Identity | undefined,
  operation: OperationOptions,
): Binding[] {
  const bindings = [
    ...healthRoutes(context, operation),
    ...auditRoutes(context),
    ...backupRoutes(context, operation.backups),
    handOverRoute(operation.handOver),
    ...deviceRoutes(context),
    ...serviceRoutes(context),
    ...historyRoutes(context),
    ...historySelectionRoutes(context),
    ...writeRoutes(context),
    ...schemaRoutes(context),
    ...metaRoutes(context),
    ...groupRoutes(context),
    ...alarmRoutes(context),
    ...functionRoutes(context),
    ...templateRoutes(context),
    ...notificationRoutes(context),
    ...updateRoutes(context),
    ...updateProjectRoutes(context),
    ...releaseRoutes(context),
    ...rolloutRoutes(context),
    ...eventRoutes(context),
    ...linkRoutes(context, identity),
    ...identityRoutes(context),
    ...jwksRoutes(identity?.keys),
    ...(identity ? bindingsWithIdentity(context, identity) : []),
  ]
  return bindings.map((binding) => withNames(context, binding))
}

/** Routes outside `/api/v1`: the public keys of tokens. Contract 1.1. */
export function rootBindingsOf(identity: Identity | undefined): Binding[] {
  return jwksRoutes(identity?.keys)
}

/** All websocket routes below `/api/v1`. */
export function socketsOf(
  context: RouteContext,
  identity: Identity | undefined,
  handler: EventSocketHandler,
  frameBytesMax: number,
  cluster: ClusterSockets = {},
): AnyWebsocketRoute[] {
  const {
    callerOfTicket = (ticket) => context.events.tickets.consume(ticket),
    authenticate = identity?.authenticate ?? (() => anonymous),
    awaitPosition,
    tunnelled = (link) => [link],
  } = cluster
  return [
    ...eventSockets({ handler, authenticate, callerOfTicket, awaitPosition }),
    ...tunnelled(linkSocket(context, identity, frameBytesMax)),
  ]
}

/** How websockets differ on a node of a cluster. */
export interface ClusterSockets extends Partial<Omit<EventSocketParts, 'handler'>> {
  /**
   * Wraps the route of device connections, so that they are forwarded to the owner, and adds the route for connections
   * that other nodes forward.
   */
  readonly tunnelled?: (link: AnyWebsocketRoute) => readonly AnyWebsocketRoute[]
}

/** Routes that exist only while authentication is on. */
function bindingsWithIdentity(context: RouteContext, identity: Identity): Binding[] {
  const { logins, secondFactors, keys, authors } = identity
  return [
    ...userRoutes(context),
    ...roleRoutes(context),
    ...tenantRoutes(context),
    ...apiKeyRoutes(context, authors),
    ...provisioningKeyRoutes(context),
    ...signInRoutes(logins),
    ...sessionRoutes(context, logins),
    ...secondFactorRoutes(secondFactors),
    ...signingKeyRoutes(keys),
  ]
}
