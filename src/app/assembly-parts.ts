import type { FileKeys } from '#access/file-keys'
import { type Identity, openIdentity } from '#access/identity'
import type { AuthoredRules, IdentityOptions } from '#access/options'
import { ImageUrls, UnsubscribeUrls } from '#access/signed-urls'
import { WebhookSecrets } from '#access/webhook-secrets'
import type { MemoryLimits } from '#actors/device/memory'
import type { NoticeBus } from '#actors/notice-bus'
import { defaultTenant, type TenantState } from '#actors/tenant/state'
import type { Component } from '#app/components'
import type { LogMessages } from '#app/log-messages'
import type { Hub } from '#events/hub'
import type { HistoryService } from '#history/history'
import { HistoryRequests } from '#history/history-requests'
import { Links } from '#link/links'
import { offerUrl } from '#link/offers'
import { Presence } from '#link/presence'
import { storedRequestsMax } from '#model/delivery'
import type { Entry } from '#model/entry'
import { retentionsIn, type ServiceRetention } from '#model/history-retention'
import type { Scope } from '#model/scope'
import { Deliveries, type DeliveriesParts } from '#notifications/deliveries'
import { defaultMailsPerHourMax, type NotificationSettings } from '#notifications/options'
import { Webhooks } from '#notifications/webhooks'
import { DeviceSearch } from '#routes/device-search'
import { FunctionViews } from '#rules/function-views'
import { RuleViews } from '#rules/tenant-rules'
import type { Log } from '#runtime/log'
import { runInSlices } from '#runtime/slices'
import type { Listing } from '#runtime/storage'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'
import type { StoreJournal } from '#store/store-journal'
import { StreamFollower } from '#store/stream-follower'
import { ActionRunner } from '#workers/action-runner'
import { Expiry, expireKeys, expireKeysEveryMs, expireLogs, expireLogsEveryMs } from '#workers/expiry'
import { RuleSweep } from '#workers/rule-sweep'

const defaultWriteTimeoutMs = 10_000

/** How long a stop waits until the results of mails are stored. A mail that is not stored as sent is sent again. */
const mailsSettledMs = 5_000

/** How long a stop waits until the results of webhooks are stored. A receiver that hangs must not delay a stop. */
const webhooksSettledMs = 1_000

/** Signs URLs while authentication is off. It is no secret, because every caller may then do everything. */
const openKey = new Uint8Array(32)

/** What most parts of the server need. */
export interface Core {
  readonly world: World
  readonly system: System<Entry>
  readonly listing: Listing
  readonly notices: NoticeBus
  /** The current permissions of a user or an API key, by resource name. */
  readonly scopeOf: (tenant: string, author: string) => Scope
  readonly messages: LogMessages
  readonly log: Log
}

/** What is signed and sealed with keys of the key file. `keys` returns undefined while authentication is off. */
export function signedParts(world: World, keys: () => FileKeys | undefined) {
  return {
    imageUrls: new ImageUrls(() => keys()?.images ?? openKey),
    unsubscribeUrls: new UnsubscribeUrls(() => keys()?.unsubscribe ?? openKey),
    webhookSecrets: new WebhookSecrets(
      () => keys()?.seal,
      (byteCount) => world.random(byteCount),
    ),
  }
}

interface HistorySources extends Pick<Core, 'world' | 'messages'> {
  readonly journal: StoreJournal
  readonly hub: Hub
  readonly tenants: () => readonly TenantState[]
}

/** The history, and what connects it to the stream and to requests. */
export function historyParts(service: HistoryService, { world, journal, hub, tenants, messages }: HistorySources) {
  const retentions = () =>
    tenants().flatMap(({ tenant, schemas }) =>
      [...schemas].flatMap(([name, schema]): ServiceRetention[] => {
        const properties = retentionsIn(schema)
        return properties.size === 0 ? [] : [{ tenant, service: name, properties }]
      }),
    )
  const follower = new StreamFollower({
    world,
    journal,
    projection: service,
    failed: messages.failed('a step of the history failed; it continues after the last value that it stored'),
    begunAnew: messages.historyBegunAnew,
    prepare: () => service.setRetentions(retentions()),
  })
  const requests = new HistoryRequests({
    world,
    service,
    follower,
    positionOf: (tenant) => ({ epoch: journal.epoch, offset: hub.publishedTo(tenant) }),
    sync: () => journal.sync(),
    compactionFailed: messages.failed('the history could not be compacted'),
  })
  return { follower, requests }
}

interface RuleSources extends Pick<Core, 'world' | 'scopeOf' | 'log'> {
  readonly settings: NotificationSettings
  readonly tenants: () => readonly TenantState[]
  readonly sweep: (tenant: string, alarm: string) => void
}

/** The alarms and functions of all tenants. */
export function ruleParts({ world, scopeOf, log, settings, tenants, sweep }: RuleSources) {
  const { mailsPerHourMax = defaultMailsPerHourMax } = settings
  const requestsMax = settings.storedRequestsMax ?? storedRequestsMax(mailsPerHourMax)
  const shared = { scopeOf, log, runInSlices: (step: () => boolean) => runInSlices(world, step) }
  const rules = new RuleViews({ ...shared, sweep })
  const functions = new FunctionViews({ ...shared, mailsPerHourMax, storedRequestsMax: requestsMax })
  const load = () => {
    const states = tenants()
    for (const views of [rules, functions]) views.load(states)
  }
  const component: Component = {
    follow: load,
    open: load,
    reloaded: load,
    tenantEnded(tenant) {
      rules.tenantEnded(tenant)
      functions.tenantEnded(tenant)
    },
  }
  return { rules, functions, mailsPerHourMax, storedRequestsMax: requestsMax, component }
}

interface DeviceSources {
  readonly journal: StoreJournal
  readonly memory: MemoryLimits
  readonly rules: RuleViews
  readonly imageUrls: ImageUrls
  readonly imagePublicUrls: readonly string[] | undefined
  readonly hasOtherNodes: boolean | undefined
  readonly writeTimeoutMs: number | undefined
}

/** The connections of devices, and the long jobs over many devices. */
export function deviceParts(core: Core, sources: DeviceSources) {
  const { world, system, listing, scopeOf, messages } = core
  const { memory, rules, imageUrls, imagePublicUrls, hasOtherNodes = false, writeTimeoutMs } = sources
  const { intern } = sources.journal.shapes
  const presence = new Presence({
    system,
    listing,
    statusOf: (tenant, device) => links.statusOf(tenant, device),
    failed: messages.failed('could not set devices offline that did not reconnect'),
  })
  const links: Links = new Links({
    system,
    intern,
    memory,
    presence,
    writeTimeoutMs: writeTimeoutMs ?? defaultWriteTimeoutMs,
    offerUrl: offerUrl({ world, imageUrls, publicUrls: imagePublicUrls ?? [] }),
    hasOtherNodes,
    log: messages.ofLinks,
  })
  const actions = new ActionRunner({
    system,
    listing,
    links,
    scopeOf,
    failed: messages.failed('could not continue an action; will try again'),
  })
  const ruleSweep = new RuleSweep({
    system,
    listing,
    rules,
    failed: messages.failed('could not evaluate changed alarms; will try again'),
  })
  const search = new DeviceSearch({ world, system, listing })
  return { links, presence, actions, ruleSweep, search, intern, memory }
}

interface NotificationSources extends Pick<DeliveriesParts, 'recipientOf'> {
  readonly settings: NotificationSettings
  readonly ruled: ReturnType<typeof ruleParts>
  readonly signed: ReturnType<typeof signedParts>
  readonly publicUrls: readonly string[] | undefined
}

/** The senders of mails and webhooks. */
export function notificationParts(core: Core, sources: NotificationSources) {
  const { system, listing, notices, scopeOf, log } = core
  const { settings, ruled, signed, recipientOf, publicUrls = [] } = sources
  const { functions, mailsPerHourMax } = ruled
  const { mail, webhookSender } = settings
  const { unsubscribeUrls, webhookSecrets } = signed
  const shared = { system, listing, functions, scopeOf, log }
  const deliveries = new Deliveries({ ...shared, mail, mailsPerHourMax, recipientOf, unsubscribeUrls, publicUrls })
  const webhooks = new Webhooks({
    ...shared,
    webhookSender,
    secretOf: (tenant, fn, node, stored) => webhookSecrets.open({ tenant, function: fn }, stored, node),
  })
  for (const sender of [deliveries, webhooks]) notices.listen(sender)
  return { deliveries, webhooks }
}

interface AccessSources extends Pick<IdentityOptions, 'settings' | 'hub' | 'links' | 'sweep'> {
  /** The rules that depend on the rights of their authors. */
  readonly views: readonly AuthoredRules[]
  readonly tenantEnded: (tenant: string) => void
}

/** Authentication and access. */
export function accessParts(core: Core, { views, tenantEnded, ...options }: AccessSources): Identity {
  const accessChanged = (tenant: string) => {
    if (!core.system.isServing) return
    for (const each of views) each.accessChanged(tenant)
  }
  const identity = openIdentity({ ...core, ...options, rules: { accessChanged, tenantEnded } })
  core.notices.listen(identity.notices)
  return identity
}

interface PositionSources extends Pick<Core, 'system'>, Pick<HistorySources, 'journal' | 'hub'> {
  readonly search: DeviceSearch
}

/** Tells the hub the stored positions of all streams, also after the store was read again. */
export function publishedPositions({ system, journal, hub, search }: PositionSources): Component {
  const load = () => {
    system.registry.head(defaultTenant)
    for (const head of system.registry.heads()) hub.load(head.tenant, head.committed)
  }
  const reloaded = (isRewound: boolean) => {
    hub.reloaded((tenant) => journal.stream(tenant).last, isRewound)
    search.reloaded()
  }
  return {
    follow() {
      reloaded(false)
      load()
    },
    open: load,
    reloaded,
  }
}

/** Keeps the store open until it holds the pending commits and the results of mails and webhooks. */
export function settling(system: Core['system'], senders: ReturnType<typeof notificationParts>): Component {
  return {
    async close() {
      const { deliveries, webhooks } = senders
      await Promise.all([deliveries.whenSent(mailsSettledMs), webhooks.whenStored(webhooksSettledMs)])
      if (system.gate.isOpen) await system.gate.whenStored().catch(() => {})
    },
  }
}

/** Deletes what is kept for a limited time only. */
export function expiries({ system, listing, messages }: Core): readonly Component[] {
  const parts = (what: string) => ({ system, listing, failed: messages.failed(`could not delete ${what}`) })
  return [
    new Expiry(parts('expired idempotency keys'), expireKeysEveryMs, expireKeys),
    new Expiry(parts('the oldest entries of the audit and of the history of alarms'), expireLogsEveryMs, expireLogs),
  ]
}
