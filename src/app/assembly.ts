import { type Identity, openIdentity } from '#access/identity'
import { ImageUrls } from '#access/image-urls'
import { Tickets } from '#access/tickets'
import { UnsubscribeUrls } from '#access/unsubscribe-urls'
import { accountActor } from '#actors/account/account'
import { actionActor } from '#actors/action/action'
import { actionPageActor } from '#actors/action/page'
import { deliveryActor } from '#actors/delivery/delivery'
import { LateDeliveryNotices } from '#actors/delivery/notices'
import { deviceActor, deviceAddress } from '#actors/device/device'
import { defaultMemory } from '#actors/device/memory'
import { isOverridden } from '#actors/device/overridden'
import type { DeviceState } from '#actors/device/state'
import { directoryActor } from '#actors/directory/directory'
import { tenantsThere } from '#actors/directory/queries'
import { idempotencyActor } from '#actors/idempotency/idempotency'
import { indexes } from '#actors/indexes'
import { LateNotices } from '#actors/notices'
import { outboxActor } from '#actors/outbox/outbox'
import { projectActor } from '#actors/project/project'
import { sessionActor } from '#actors/session/session'
import { signingKeysActor } from '#actors/signing-keys/signing-keys'
import { subscriberActor } from '#actors/subscriber/subscriber'
import { defaultTenant, tenantAddress } from '#actors/tenant/address'
import { tenantActor } from '#actors/tenant/tenant'
import { LateUpdateNotices } from '#actors/update/notices'
import { updateActor } from '#actors/update/update'
import { updateScheduleActor } from '#actors/update-schedule/schedule'
import type { AssemblyOptions } from '#app/assembly-options'
import type { Watched } from '#app/metrics/sources'
import { Hub } from '#events/hub'
import { FirmwareUpdates, projectNotices } from '#firmware/firmware-updates'
import { defaultImageBytesMax, defaultOfferTimeoutMs } from '#firmware/options'
import { Links } from '#link/links'
import { offerUrl } from '#link/offers'
import { Presence } from '#link/presence'
import { requestsKept } from '#model/delivery'
import type { Entry } from '#model/entry'
import { everything } from '#model/scope'
import { Deliveries } from '#notifications/deliveries'
import { defaultMailsPerHourMax } from '#notifications/options'
import type { RouteContext } from '#routes/context'
import { EventRoom } from '#routes/event-room'
import { streamShareOf } from '#routes/stream-share'
import { FunctionViews } from '#rules/function-views'
import { RuleViews } from '#rules/rule-views'
import type { AnyDefinition } from '#runtime/activation'
import { StorageFailure } from '#runtime/storage'
import { System } from '#runtime/system'
import { embeddedLog } from '#store/commit-log'
import { Database } from '#store/database'
import { StoreJournal } from '#store/store-journal'
import { StoreListing } from '#store/store-listing'
import { TenantSweep } from '#store/tenant-sweep'
import { ActionRunner } from '#workers/action-runner'
import { IdempotencyExpiry } from '#workers/idempotency-expiry'
import { inSlices } from '#workers/in-slices'
import { RuleSweep } from '#workers/rule-sweep'
import { bothViews } from '#workers/while-serving'

/** What waits to be stored or to leave, above which more is refused: some seconds of a full flood. */
const uncommittedBytesMax = 64 * 1024 * 1024

/** Signs addresses while IAM is off: then everybody may do everything. */
const openKey = new Uint8Array(32)

/** So long an end waits until it is stored what became of mails: what is not stored as sent is sent once more. */
const mailsSettledMs = 5_000

/**
 * The server without its sockets and its disk: everything between two ports, put together. The same for the real one and
 * for a simulation of it.
 */
export interface Assembly {
  readonly context: RouteContext
  readonly database: Database
  readonly watched: Watched
  readonly eventRoom: EventRoom
  /** Undefined: IAM is off. */
  readonly identity: Identity | undefined
  /**
   * Opens the store and answers from then on. `printed`: the first administrator's random password, to be shown once. What
   * was opened is closed again when this is rejected.
   */
  open(): Promise<{ readonly printed?: { readonly name: string; readonly password: string } }>
  /** Begins nothing new by itself. Before sockets are closed. */
  stop(): void
  /** Stores what waits, and closes the store. Sockets must be closed before. */
  close(): Promise<void>
}

export function assemble(options: AssemblyOptions): Assembly {
  const { world, place, publisher, log } = options
  const startedAt = world.now()
  const journal = new StoreJournal({
    openLog: embeddedLog(options.isSynced),
    retainedBytesMax: options.retention.bytesMax,
  })
  const listing = new StoreListing(() => journal.storage)
  const bug = (error: unknown, where: string) => log.error({ err: error }, `a bug: ${where}`)

  const hub = new Hub({
    world,
    publisher,
    reader: journal,
    ...(options.highWaterBytes !== undefined && { highWaterBytes: options.highWaterBytes }),
    isOverridden: (item, told) => {
      const { state, lastOffset } = system.registry.look(deviceAddress(item.tenant, item.device))
      return isOverridden(state as DeviceState, lastOffset, item, told)
    },
    membersOf: (tenant, group) => rules.membersOf(tenant, group),
    failed: (error) => {
      if (error instanceof StorageFailure) log.warn({ err: error }, 'what a dashboard missed could not be read')
      else bug(error, 'catching up')
    },
  })

  const stateOf = (tenant: string) => system.wake(tenantAddress(tenant))
  const scopeOf = (tenant: string, author: string) => identity?.scopeOf(tenant, author) ?? everything
  const sliced = { inSlices: (step: () => boolean) => inSlices(world, step), log }
  const sweep = (tenant: string, alarm: string) => ruleSweep.want(tenant, alarm)
  const rules: RuleViews = new RuleViews({ scopeOf, sweep, ...sliced })
  const { mail, mailsPerHourMax = defaultMailsPerHourMax } = options.notifications
  const kept = options.notifications.requestsKept ?? requestsKept(mailsPerHourMax)
  const functions = new FunctionViews({ mailsPerHourMax, requestsKept: kept, scopeOf, ...sliced })
  /** The store was read, at the start or again. */
  const resume = () => {
    const tenants = [...tenantsThere(system)].map(stateOf)
    for (const views of [rules, functions]) views.load(tenants)
    ruleSweep.open()
    presence.start()
    actions.open()
  }
  const { updates: settings } = options
  const { images, imageBytesMax = defaultImageBytesMax, offerTimeoutMs = defaultOfferTimeoutMs } = settings
  const imageUrls = once(() => new ImageUrls(identity?.imageKey() ?? openKey))
  const unsubscribeUrls = once(() => new UnsubscribeUrls(identity?.unsubscribeKey() ?? openKey))

  const memory = { ...(options.memory ?? defaultMemory), of: (tenant: string) => stateOf(tenant).memory }
  const notices = new LateNotices()
  const updateNotices = new LateUpdateNotices()
  const deliveryNotices = new LateDeliveryNotices()
  const definitions = [
    deviceActor({ shapeById: (id) => journal.shapes.byId(id), startedAt, rules, functions, memory }),
    tenantActor(
      notices,
      bothViews(rules, functions, () => system.isServing),
      deliveryNotices,
    ),
    subscriberActor(deliveryNotices),
    deliveryActor({ notices: deliveryNotices, kept }),
    outboxActor,
    directoryActor(notices),
    accountActor,
    sessionActor(notices),
    signingKeysActor(notices),
    idempotencyActor,
    actionActor,
    actionPageActor,
    updateActor({ notices: updateNotices, offerTimeoutMs }),
    projectActor(
      projectNotices(
        () => updates,
        () => system.isServing,
      ),
    ),
    updateScheduleActor,
  ] as unknown as AnyDefinition<Entry>[]

  const system: System<Entry> = new System<Entry>({
    world,
    journal,
    definitions,
    listener: hub,
    log: {
      bug,
      refusedTell: (problem, tell) => log.warn({ err: problem, to: tell.to }, 'a tell was refused'),
    },
    commitFailed: (error) => {
      links.storageFailed()
      database.commitFailed(error)
    },
    uncommittedBytesMax: options.uncommittedBytesMax ?? uncommittedBytesMax,
    ...(options.redo && { redo: options.redo }),
  })

  const ruleSweep = new RuleSweep({
    system,
    listing,
    rules,
    failed: (error) => log.warn({ err: error }, 'could not judge devices by alarms that were edited; tried again'),
  })

  const presence = new Presence({
    system,
    listing,
    statusOf: (tenant, device) => links.statusOf(tenant, device),
    failed: (error) => log.warn({ err: error }, 'could not set devices offline that did not come back'),
  })

  const links: Links = new Links({
    system,
    intern: journal.shapes.intern,
    memory,
    presence,
    writeTimeoutMs: options.writeTimeoutMs ?? 10_000,
    offerUrl: (...asked) =>
      offerUrl({ world, imageUrls: imageUrls(), publicUrls: settings.publicUrls ?? [] })(...asked),
    log: {
      gap: (tenant, device, after, seq) => log.info({ tenant, device, after, seq }, 'a device left out numbers'),
      refused: (tenant, problem) => log.warn({ tenant, err: problem }, 'a device was not admitted'),
      bug: (error) => bug(error, 'a frame'),
    },
  })
  const actions: ActionRunner = new ActionRunner({
    system,
    listing,
    links,
    scopeOf,
    failed: (error) => log.warn({ err: error }, 'could not go on with an action; tried again'),
  })

  const updates: FirmwareUpdates = new FirmwareUpdates({
    system,
    listing,
    links,
    images,
    server: settings.server,
    options: settings.options,
    offerTimeoutMs,
    scopeOf,
    log,
  })
  updateNotices.listen(updates.updater)
  const deliveries: Deliveries = new Deliveries({
    system,
    listing,
    functions,
    mail,
    mailsPerHourMax,
    scopeOf,
    addressOf: (tenant, user) => identity?.addressOf(tenant, user) ?? { isActive: true, address: null },
    unsubscribeUrls,
    publicUrls: options.identity?.publicUrls ?? [],
    log,
  })
  deliveryNotices.listen(deliveries)

  const database: Database = new Database({
    world,
    place,
    journal,
    retention: options.retention,
    ...(options.bulkWake && { bulkWake: options.bulkWake }),
    log: {
      failed: (failure) => log.error({ err: failure }, 'a write failed: nothing more is written on this handle'),
      readOnly: (failure) =>
        log.error(
          { reason: failure.code },
          failure.code === 'io' ? 'read only until the process is started anew' : 'read only until there is room again',
        ),
      recovered: () => log.info({}, 'the store takes writes again'),
      sweepFailed: (error) => log.warn({ err: error }, 'unused shapes were not deleted; tried again in an hour'),
      stillFailing: (error) => log.error({ err: error }, 'the store could not be read again'),
    },
    reloaded: (isRewound) => {
      hub.reloaded((tenant) => journal.stream(tenant).last, isRewound)
      identity?.reloaded()
      resume()
      updates.reloaded()
      deliveries.reloaded()
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
        tenantEnded: (tenant) => {
          rules.tenantEnded(tenant)
          ruleSweep.tenantEnded(tenant)
          actions.tenantEnded(tenant)
          updates.tenantEnded(tenant)
          functions.tenantEnded(tenant)
          deliveries.tenantEnded(tenant)
        },
      },
      sweep: new TenantSweep({ system, journal, kinds: definitions.map(({ kind }) => kind), indexes }),
      log,
    })
  if (identity) notices.listen(identity.notices)

  const context: RouteContext = {
    world,
    system,
    reader: journal,
    listing,
    intern: journal.shapes.intern,
    memory,
    hub,
    links,
    actions,
    updater: updates.updater,
    checks: updates.checks,
    updateServer: updates.server,
    images,
    imageBytesMax,
    imageUses: updates.imageUses,
    downloads: updates.downloads,
    get imageUrls() {
      return imageUrls()
    },
    hookSecret: settings.hookSecret,
    deliveries,
    mail,
    get unsubscribeUrls() {
      return unsubscribeUrls()
    },
    presence,
    tickets: new Tickets({
      now: () => world.now(),
      random: (byteCount) => world.random(byteCount),
      lifetimeMs: options.ticketLifetimeMs,
      ...(identity && { callerOf: identity.callerOf }),
    }),
    streamShare: streamShareOf(world, options.retention.bytesMax),
    startedAt,
  }
  const eventRoom = new EventRoom(world, hub, options.socketsPerUserMax, identity?.sockets)
  const idempotencyExpiry = new IdempotencyExpiry({
    system,
    listing,
    failed: (error) => log.warn({ err: error }, 'could not take away what is kept under old idempotency keys'),
  })

  const stop = () => {
    identity?.stop()
    ruleSweep.stop()
    actions.stop()
    updates.stop()
    deliveries.stop()
    idempotencyExpiry.stop()
  }
  const close = async () => {
    stop()
    presence.stop()
    eventRoom.stop()
    await mail.close()
    await deliveries.settled(mailsSettledMs)
    if (system.gate.isOpen) await system.gate.settled().catch(() => {})
    await database.close()
  }

  return {
    context,
    database,
    watched: { journal, rules, functions, updates, deliveries },
    eventRoom,
    identity,
    async open() {
      try {
        await database.open(system)
        await images.open()
        await mail.open()
        system.registry.head(defaultTenant)
        for (const head of system.registry.heads()) hub.load(head.tenant, head.committed)
        const opened = (await identity?.open()) ?? {}
        resume()
        await updates.open()
        await deliveries.open()
        idempotencyExpiry.start()
        return opened
      } catch (error) {
        await close()
        throw error
      }
    },
    stop,
    close,
  }
}

/** Made when it is first asked for. */
function once<T>(make: () => T): () => T {
  let made: { readonly it: T } | undefined
  return () => {
    made ??= { it: make() }
    return made.it
  }
}
