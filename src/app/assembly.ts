import { AuditLog } from '#access/audit-log'
import { type Identity, openIdentity } from '#access/identity'
import { ImageUrls, UnsubscribeUrls } from '#access/signed-urls'
import { Tickets } from '#access/tickets'
import { WebhookSecrets } from '#access/webhook-secrets'
import { deviceAddress } from '#actors/device/device'
import { defaultMemory } from '#actors/device/memory'
import { type DeviceState, isOverridden } from '#actors/device/state'
import { activeTenants } from '#actors/directory/queries'
import { indexes } from '#actors/indexes'
import { noticeBus } from '#actors/notice-bus'
import { tenantAddress } from '#actors/tenant/commands'
import { defaultTenant } from '#actors/tenant/state'
import { actorDefinitions } from '#app/actor-definitions'
import type { AssemblyOptions } from '#app/assembly-options'
import { Components } from '#app/components'
import { logMessages } from '#app/log-messages'
import type { MetricParts } from '#app/metrics/sources'
import { Hub } from '#events/hub'
import { FirmwareUpdates } from '#firmware/firmware-updates'
import { defaultImageBytesMax, defaultOfferTimeoutMs } from '#firmware/options'
import { HistoryRequests } from '#history/history-requests'
import { Links } from '#link/links'
import { offerUrl } from '#link/offers'
import { Presence } from '#link/presence'
import { storedRequestsMax } from '#model/delivery'
import type { Entry } from '#model/entry'
import { retentionsIn, type ServiceRetention } from '#model/history-retention'
import { everything } from '#model/scope'
import { Deliveries } from '#notifications/deliveries'
import { defaultMailsPerHourMax } from '#notifications/options'
import { Webhooks } from '#notifications/webhooks'
import type { RouteContext } from '#routes/context'
import { DeviceSearch } from '#routes/device-search'
import { EventSocketHandler } from '#routes/events'
import { streamShareOf } from '#routes/stream-share'
import { FunctionViews } from '#rules/function-views'
import { RuleViews } from '#rules/tenant-rules'
import { LocalTopics } from '#runtime/local-topics'
import { runInSlices } from '#runtime/slices'
import { System } from '#runtime/system'
import { Database } from '#store/database'
import { StoreJournal } from '#store/store-journal'
import { StoreListing } from '#store/store-listing'
import { StreamFollower } from '#store/stream-follower'
import { TenantSweep } from '#store/tenant-sweep'
import { ActionRunner } from '#workers/action-runner'
import { Expiry, expireKeys, expireKeysEveryMs, expireLogs, expireLogsEveryMs } from '#workers/expiry'
import { RuleSweep } from '#workers/rule-sweep'

/**
 * The limit of bytes that wait to be stored or published, above which requests are refused: some seconds of maximum
 * load.
 */
const uncommittedBytesMax = 64 * 1024 * 1024

/** Signs URLs while authentication is off. It is no secret, because every caller may then do everything. */
const openKey = new Uint8Array(32)

/** How long a stop waits until the results of mails are stored. A mail that is not stored as sent is sent again. */
const mailsSettledMs = 5_000

/** How long a stop waits until the results of webhooks are stored. A receiver that hangs must not delay a stop. */
const webhooksSettledMs = 1_000

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
  const startedAt = world.now()
  const { isSynced, retention } = storage
  const journal = new StoreJournal({ isSynced, retainedBytesMax: retention.bytesMax })
  const listing = new StoreListing(() => journal.storage)
  const messages = logMessages(log)

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
    published: (tenant, entry) => search.published(tenant, entry),
    failed: messages.catchUpFailed,
  })

  const history = options.history?.(journal)
  const follower =
    history &&
    new StreamFollower({
      world,
      journal,
      projection: history,
      failed: messages.failed('a step of the history failed; it continues after the last value that it stored'),
      begunAnew: messages.historyBegunAnew,
      prepare: () => history.setRetentions(allRetentions()),
    })

  const stateOf = (tenant: string) => system.wake(tenantAddress(tenant))
  const allRetentions = () =>
    [...activeTenants(system)].flatMap((tenant) =>
      [...stateOf(tenant).schemas].flatMap(([service, schema]): ServiceRetention[] => {
        const properties = retentionsIn(schema)
        return properties.size === 0 ? [] : [{ tenant, service, properties }]
      }),
    )
  const scopeOf = (tenant: string, author: string) => identity?.authors.scopeOf(tenant, author) ?? everything
  const shared = { runInSlices: (step: () => boolean) => runInSlices(world, step), log }
  const sweep = (tenant: string, alarm: string) => ruleSweep.request(tenant, alarm)
  const rules: RuleViews = new RuleViews({ scopeOf, sweep, ...shared })
  const { mail, webhookSender, mailsPerHourMax = defaultMailsPerHourMax } = options.notifications
  const requestsMax = options.notifications.storedRequestsMax ?? storedRequestsMax(mailsPerHourMax)
  const functions = new FunctionViews({ mailsPerHourMax, storedRequestsMax: requestsMax, scopeOf, ...shared })
  const loadRules = () => {
    const tenants = [...activeTenants(system)].map(stateOf)
    for (const views of [rules, functions]) views.load(tenants)
  }
  const { updates: updateSettings } = options
  const { images, imageBytesMax = defaultImageBytesMax, offerTimeoutMs = defaultOfferTimeoutMs } = updateSettings
  const imageUrls = new ImageUrls(() => identity?.fileKeys().images ?? openKey)
  const webhookSecrets = new WebhookSecrets(
    () => identity?.fileKeys().seal,
    (byteCount) => world.random(byteCount),
  )
  const unsubscribeUrls = new UnsubscribeUrls(() => identity?.fileKeys().unsubscribe ?? openKey)

  const memory = { ...(limits.memory ?? defaultMemory), of: (tenant: string) => stateOf(tenant).memory }
  const notices = noticeBus()
  const definitions = actorDefinitions({
    device: { shapeById: (id) => journal.shapes.byId(id), startedAt, rules, functions, memory },
    notices,
    storedRequestsMax: requestsMax,
    offerTimeoutMs,
  })

  const system: System<Entry> = new System<Entry>({
    world,
    journal,
    definitions,
    listener: hub,
    log: messages.ofSystem,
    commitFailed: (error) => {
      links.storageFailed()
      database.commitFailed(error)
    },
    uncommittedBytesMax: limits.uncommittedBytesMax ?? uncommittedBytesMax,
    commitEveryMs: storage.backend.commitEveryMs ?? 0,
    ...(storage.redo && { redo: storage.redo }),
  })
  const search = new DeviceSearch({ world, system, listing })
  // Notices during a reload can be ignored, because the views load the state afterwards.
  for (const view of [rules, functions]) notices.listen(view, () => system.isServing)

  const ruleSweep = new RuleSweep({
    system,
    listing,
    rules,
    failed: messages.failed('could not evaluate changed alarms; will try again'),
  })

  const presence = new Presence({
    system,
    listing,
    statusOf: (tenant, device) => links.statusOf(tenant, device),
    failed: messages.failed('could not set devices offline that did not reconnect'),
  })

  const links: Links = new Links({
    system,
    intern: journal.shapes.intern,
    memory,
    presence,
    writeTimeoutMs: options.writeTimeoutMs ?? 10_000,
    offerUrl: offerUrl({ world, imageUrls, publicUrls: updateSettings.publicUrls ?? [] }),
    hasOtherNodes: storage.backend.isShared ?? false,
    log: messages.ofLinks,
  })
  const actions: ActionRunner = new ActionRunner({
    system,
    listing,
    links,
    scopeOf,
    failed: messages.failed('could not continue an action; will try again'),
  })

  const updates: FirmwareUpdates = new FirmwareUpdates({
    system,
    notices,
    listing,
    links,
    images,
    server: updateSettings.server,
    options: updateSettings.options,
    offerTimeoutMs,
    scopeOf,
    log,
  })
  const deliveries: Deliveries = new Deliveries({
    system,
    listing,
    functions,
    mail,
    mailsPerHourMax,
    scopeOf,
    recipientOf: (tenant, user) => identity?.authors.recipientOf(tenant, user) ?? { isActive: true, address: null },
    unsubscribeUrls,
    publicUrls: options.identity?.publicUrls ?? [],
    log,
  })
  notices.listen(deliveries)
  const webhooks = new Webhooks({
    system,
    listing,
    functions,
    webhookSender,
    scopeOf,
    secretOf: (tenant, fn, node, stored) => webhookSecrets.open({ tenant, function: fn }, stored, node),
    log,
  })
  notices.listen(webhooks)

  const database: Database = new Database({
    world,
    backend: storage.backend,
    journal,
    retention: storage.retention,
    ...(follower && { neededFrom: (tenant: string) => follower.neededFrom(tenant) }),
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
    openIdentity({
      ...options.identity,
      world,
      system,
      hub,
      links,
      rules: {
        accessChanged: (tenant) => {
          if (!system.isServing) return
          rules.accessChanged(tenant)
          functions.accessChanged(tenant)
        },
        tenantEnded: (tenant) => components.tenantEnded(tenant),
      },
      listing,
      sweep: new TenantSweep({ system, journal, kinds: definitions.map(({ kind }) => kind), indexes }),
      log,
    })
  if (identity) notices.listen(identity.notices)

  const audit = new AuditLog({ system, log, isLogged: options.isAuditLogged ?? false })
  const context: RouteContext = {
    world,
    system,
    reader: journal,
    listing,
    search,
    intern: journal.shapes.intern,
    memory,
    hub,
    localTopics,
    links,
    actions,
    firmware: {
      updater: updates.updater,
      checks: updates.checks,
      server: updates.server,
      images,
      imageBytesMax,
      imageUses: updates.imageUses,
      downloads: updates.downloads,
      imageUrls,
      hookSecret: updateSettings.hookSecret,
    },
    notifications: { publicUrls: [], ...options.notifications, deliveries, unsubscribeUrls, webhookSecrets },
    presence,
    tickets: new Tickets({
      now: () => world.now(),
      random: (byteCount) => world.random(byteCount),
      lifetimeMs: options.ticketLifetimeMs,
      ...(identity && { callerOf: identity.callerOf }),
    }),
    history:
      history &&
      follower &&
      new HistoryRequests({
        world,
        service: history,
        follower,
        positionOf: (tenant) => ({ epoch: journal.epoch, offset: hub.publishedTo(tenant) }),
        sync: () => journal.sync(),
        compactionFailed: messages.failed('the history could not be compacted'),
      }),
    streamShare: streamShareOf(world, storage.retention.bytesMax),
    audit,
    startedAt,
  }
  const eventSocketHandler = new EventSocketHandler(world, hub, limits.socketsPerUserMax, identity?.sockets)
  const expiryOf = (what: string) => ({ system, listing, failed: messages.failed(`could not delete ${what}`) })

  let whenFollowing: (() => void) | undefined
  const loadPositions = () => {
    system.registry.head(defaultTenant)
    for (const head of system.registry.heads()) hub.load(head.tenant, head.committed)
  }
  const publishStored = (isRewound: boolean) => {
    hub.reloaded((tenant) => journal.stream(tenant).last, isRewound)
    search.reloaded()
  }
  const components = new Components([
    { open: () => database.open(system), close: () => database.close() },
    // The store stays open until it holds the pending commits and the results of mails and webhooks.
    {
      async close() {
        await Promise.all([deliveries.whenSent(mailsSettledMs), webhooks.whenStored(webhooksSettledMs)])
        if (system.gate.isOpen) await system.gate.whenStored().catch(() => {})
      },
    },
    images,
    mail,
    {
      follow() {
        publishStored(false)
        loadPositions()
      },
      open: loadPositions,
      reloaded: publishStored,
    },
    ...(follower ? [follower] : []),
    ...(identity ? [identity] : []),
    {
      follow: loadRules,
      open: loadRules,
      reloaded: loadRules,
      tenantEnded(tenant) {
        rules.tenantEnded(tenant)
        functions.tenantEnded(tenant)
      },
    },
    ruleSweep,
    presence,
    actions,
    updates,
    deliveries,
    webhooks,
    new Expiry(expiryOf('expired idempotency keys'), expireKeysEveryMs, expireKeys),
    new Expiry(expiryOf('the oldest entries of the audit and of the history of alarms'), expireLogsEveryMs, expireLogs),
    { close: () => eventSocketHandler.stop() },
  ])

  return {
    context,
    database,
    metricParts: { journal, follower, rules, functions, updates, deliveries, webhooks },
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
