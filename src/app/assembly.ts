import { AuditLog } from '#access/audit-log'
import { streamShareOf } from '#access/byte-allowance'
import type { Identity } from '#access/identity'
import { Tickets } from '#access/tickets'
import { deviceAddress } from '#actors/device/device'
import { defaultMemory } from '#actors/device/memory'
import { type DeviceState, isOverridden } from '#actors/device/state'
import { activeTenants } from '#actors/directory/queries'
import { indexes } from '#actors/indexes'
import { noticeBus } from '#actors/notice-bus'
import { tenantAddress } from '#actors/tenant/commands'
import { actorDefinitions } from '#app/actor-definitions'
import type { AssemblyOptions } from '#app/assembly-options'
import {
  accessParts,
  type Core,
  deviceParts,
  expiries,
  historyParts,
  notificationParts,
  publishedPositions,
  ruleParts,
  settling,
  signedParts,
} from '#app/assembly-parts'
import { Components } from '#app/components'
import { logMessages } from '#app/log-messages'
import type { MetricParts } from '#app/metrics/sources'
import { Hub } from '#events/hub'
import { FirmwareUpdates } from '#firmware/firmware-updates'
import { defaultImageBytesMax, defaultOfferTimeoutMs } from '#firmware/options'
import type { Entry } from '#model/entry'
import { everything } from '#model/scope'
import type { RouteContext } from '#routes/context'
import { EventSocketHandler } from '#routes/events'
import { LocalTopics } from '#runtime/local-topics'
import { System } from '#runtime/system'
import { Database } from '#store/database'
import { StoreJournal } from '#store/store-journal'
import { StoreListing } from '#store/store-listing'
import { TenantSweep } from '#store/tenant-sweep'

/**
 * The limit of bytes that wait to be stored or published, above which requests are refused: some seconds of maximum
 * load.
 */
const uncommittedBytesMax = 64 * 1024 * 1024

const defaultTicketLifetimeMs = 30_000

/**
 * The server without sockets and disk, which are passed to it. The real server and the simulation use the same
 * assembly.
 */
export interface Assembly {
  readonly context: RouteContext
  readonly database: Database
  readonly metricParts: MetricParts
  readonly eventSocketHandler: EventSocketHandler
  /** Undefined if authentication is off. */
  readonly identity: Identity | undefined
  readonly components: Pick<Components, 'isOpen'>
  /**
   * Opens the store and all components. If `open` rejects, everything is closed again. On a node of a cluster, calls
   * `following` when the node answers reads, and resolves when the node is the owner.
   */
  open(following?: () => void): Promise<void>
  /** Starts no new work. Call before sockets are closed. */
  stop(): void
  /** Stores pending work, and closes the store. Sockets must be closed before. */
  close(): Promise<void>
}

export function assemble(options: AssemblyOptions): Assembly {
  const { world, storage, limits = {}, publisher, log } = options
  const { offerTimeoutMs = defaultOfferTimeoutMs, imageBytesMax = defaultImageBytesMax, images } = options.updates
  const startedAt = world.now()
  const messages = logMessages(log)
  const notices = noticeBus()
  const journal = new StoreJournal({ isSynced: storage.isSynced, retainedBytesMax: storage.retention.bytesMax })
  const listing = new StoreListing(() => journal.storage)
  const stateOf = (tenant: string) => system.wake(tenantAddress(tenant))
  const tenants = () => [...activeTenants(system)].map(stateOf)
  const scopeOf: Core['scopeOf'] = (tenant, author) => identity?.authors.scopeOf(tenant, author) ?? everything
  const signed = signedParts(world, () => identity?.fileKeys())

  const localTopics = new LocalTopics(world, publisher, (error) => messages.bug(error, 'sending events'))
  const hub = new Hub({
    world,
    publisher: localTopics,
    reader: journal,
    ...(limits.highWaterBytes !== undefined && { highWaterBytes: limits.highWaterBytes }),
    isOverridden: (item, sent) => {
      const { state, lastOffset } = system.registry.peek(deviceAddress(item.tenant, item.device))
      return isOverridden(state as DeviceState, lastOffset, item, sent)
    },
    membersOf: (tenant, group) => rules.membersOf(tenant, group),
    published: (tenant, entry) => devices.search.published(tenant, entry),
    failed: messages.catchUpFailed,
  })
  const history = options.history && historyParts(options.history(journal), { world, journal, hub, tenants, messages })
  const sweep = (tenant: string, alarm: string) => devices.ruleSweep.request(tenant, alarm)
  const ruled = ruleParts({ world, scopeOf, log, settings: options.notifications, tenants, sweep })
  const { rules, functions, storedRequestsMax } = ruled
  const memory = { ...(limits.memory ?? defaultMemory), of: (tenant: string) => stateOf(tenant).memory }
  const device = { shapeById: (id: string) => journal.shapes.byId(id), startedAt, rules, functions, memory }
  const definitions = actorDefinitions({ device, notices, storedRequestsMax, offerTimeoutMs })

  const system: System<Entry> = new System<Entry>({
    world,
    journal,
    definitions,
    listener: hub,
    log: messages.ofSystem,
    commitFailed: (error) => {
      devices.links.storageFailed()
      database.commitFailed(error)
    },
    uncommittedBytesMax: limits.uncommittedBytesMax ?? uncommittedBytesMax,
    commitEveryMs: storage.backend.commitEveryMs ?? 0,
    ...(storage.redo && { redo: storage.redo }),
  })
  const core: Core = { world, system, listing, notices, scopeOf, messages, log }
  // Notices during a reload can be ignored, because the views load the state afterwards.
  for (const views of [rules, functions]) notices.listen(views, () => system.isServing)
  const devices = deviceParts(core, {
    journal,
    memory,
    rules,
    imageUrls: signed.imageUrls,
    imagePublicUrls: options.updates.publicUrls,
    hasOtherNodes: storage.backend.isShared,
    writeTimeoutMs: limits.writeTimeoutMs,
  })
  const updates = new FirmwareUpdates({ ...core, ...options.updates, links: devices.links, offerTimeoutMs })
  const senders = notificationParts(core, {
    settings: options.notifications,
    ruled,
    signed,
    recipientOf: (tenant, user) => identity?.authors.recipientOf(tenant, user) ?? { isActive: true, address: null },
    publicUrls: options.identity?.publicUrls,
  })

  const database: Database = new Database({
    world,
    backend: storage.backend,
    journal,
    retention: storage.retention,
    ...(history && { neededFrom: (tenant: string) => history.follower.neededFrom(tenant) }),
    ...(storage.bulkActivation && { bulkActivation: storage.bulkActivation }),
    log: messages.ofDatabase,
    reloaded: (isRewound) => components.reloaded(isRewound),
    listener: hub,
    async following() {
      await components.follow()
      whenFollowing?.()
    },
  })
  const identity: Identity | undefined =
    options.identity &&
    accessParts(core, {
      settings: options.identity,
      hub,
      links: devices.links,
      views: [rules, functions],
      sweep: new TenantSweep({ system, journal, kinds: definitions.map(({ kind }) => kind), indexes }),
      tenantEnded: (tenant) => components.tenantEnded(tenant),
    })

  const tickets = new Tickets({
    now: () => world.now(),
    random: (byteCount) => world.random(byteCount),
    lifetimeMs: limits.ticketLifetimeMs ?? defaultTicketLifetimeMs,
    ...(identity && { callerOf: identity.callerOf }),
  })
  const { updater, checks, server, imageUses, downloads } = updates
  const context: RouteContext = {
    world,
    system,
    listing,
    devices,
    events: {
      hub,
      reader: journal,
      localTopics,
      tickets,
      streamShare: streamShareOf(world, storage.retention.bytesMax),
    },
    firmware: {
      ...options.updates,
      imageBytesMax,
      updater,
      checks,
      server,
      imageUses,
      downloads,
      imageUrls: signed.imageUrls,
    },
    notifications: { publicUrls: [], ...options.notifications, ...signed, deliveries: senders.deliveries },
    history: history?.requests,
    audit: new AuditLog({ system, log, isLogged: options.isAuditLogged ?? false }),
    startedAt,
  }
  const eventSocketHandler = new EventSocketHandler(world, hub, limits.socketsPerUserMax, identity?.sockets)

  let whenFollowing: (() => void) | undefined
  const components = new Components([
    { open: () => database.open(system), close: () => database.close() },
    settling(system, senders),
    images,
    options.notifications.mail,
    publishedPositions({ system, journal, hub, search: devices.search }),
    ...(history ? [history.follower] : []),
    ...(identity ? [identity] : []),
    ruled.component,
    devices.ruleSweep,
    devices.presence,
    devices.actions,
    updates,
    senders.deliveries,
    senders.webhooks,
    ...expiries(core),
    { close: () => eventSocketHandler.stop() },
  ])

  return {
    context,
    database,
    metricParts: { journal, follower: history?.follower, rules, functions, updates, ...senders },
    eventSocketHandler,
    identity,
    components,
    async open(following) {
      whenFollowing = following
      await components.open()
    },
    stop: () => components.stop(),
    close: () => components.close(),
  }
}
