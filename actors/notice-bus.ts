import type { TenantRow, UserRow } from '#actors/directory/state'
import type { StoredSigningKey } from '#actors/signing-keys/state'
import type { KeyKind, StoredRole } from '#actors/tenant/state'
import type { StoredUpdate, UpdateContext } from '#actors/update/state'
import type { StoredAlarm } from '#model/alarm'
import type { DeliveryHead } from '#model/delivery'
import type { Trigger, TriggerOutcome } from '#model/firmware'
import type { StoredFunction } from '#model/function'
import type { StoredGroup } from '#model/group'
import type { ServiceSchema } from '#model/service-schema'
import type { StoredTemplate } from '#model/template'
import type { StoredWebhook } from '#model/webhook'

/** Everything that actors publish after a commit. */
interface Notices
  extends IdentityNotices,
    RuleNotices,
    TopicNotices,
    SubscriberNotices,
    DeliveryNotices,
    WebhookNotices,
    UpdateNotices,
    ProjectNotices {}

/** A component that listens to some of the notices: it has a method with the name of each. */
export type NoticeListener = Partial<Notices>

const names: Readonly<Record<keyof Notices, true>> = {
  sessionEnded: true,
  roleChanged: true,
  userChanged: true,
  tenantChanged: true,
  keyEnded: true,
  signingKeyChanged: true,
  signingKeyIsOld: true,
  alarmChanged: true,
  groupChanged: true,
  schemaChanged: true,
  functionChanged: true,
  templateChanged: true,
  topicEnded: true,
  subscribed: true,
  unsubscribed: true,
  requested: true,
  webhookAdded: true,
  webhooksForgotten: true,
  updateMoved: true,
  updateCheckWanted: true,
  updateOfferWanted: true,
  triggerSettled: true,
  updateRetryDue: true,
  nextUpdateWanted: true,
  releasesChanged: true,
  scanRequested: true,
  rolloutChanged: true,
}

/**
 * Carries notices from actors to components that are created later. Listeners are called in the order in which they
 * were added. A notice without a listener is dropped: components read the store when they open.
 */
export interface NoticeBus extends Notices {
  /** The listener gets no notices while `isListening` returns false. Default: always true. */
  listen(listener: NoticeListener, isListening?: () => boolean): void
}

export function noticeBus(...listeners: readonly NoticeListener[]): NoticeBus {
  const always = (): boolean => true
  const added = listeners.map((listener) => ({ listener, isListening: always }))
  const send =
    (name: keyof Notices) =>
    (...notice: unknown[]): void => {
      for (const { listener, isListening } of added) {
        const handle = listener[name] as ((...notice: unknown[]) => void) | undefined
        if (handle && isListening()) handle.apply(listener, notice)
      }
    }
  const relays = Object.fromEntries(Object.keys(names).map((name) => [name, send(name as keyof Notices)]))
  return {
    ...(relays as unknown as Notices),
    listen(listener, isListening = always) {
      added.push({ listener, isListening })
    },
  }
}

/**
 * Notices about stored records of users, tenants, sessions, keys, signing keys and roles. They are sent after the
 * commit, before the caller gets its answer. A node that applies the commits of another node sends them too, except
 * `signingKeyIsOld`.
 *
 * Each notice contains the committed values. The actor may have uncommitted newer values, so listeners must not read
 * the actor.
 */
export interface IdentityNotices {
  sessionEnded(tenant: string, session: string): void
  /** `stored` undefined: the role was deleted. */
  roleChanged(tenant: string, role: string, stored: StoredRole | undefined): void
  /** `row` undefined: the user was deleted. */
  userChanged(user: string, row: UserRow | undefined): void
  /** `row` undefined: the tenant was deleted with all of its data. */
  tenantChanged(tenant: string, row: TenantRow | undefined): void
  keyEnded(tenant: string, key: string, kind: KeyKind): void
  /** `stored` undefined: the key was removed. */
  signingKeyChanged(kid: string, stored: StoredSigningKey | undefined): void
  /** The signing key is old and should be replaced. Repeated every hour until the key is replaced. */
  signingKeyIsOld(): void
}

/**
 * Notices about stored records that affect alarms and functions, in the order of commits. If the last argument is
 * undefined, the record was deleted.
 */
export interface RuleNotices {
  alarmChanged(tenant: string, id: string, stored: StoredAlarm | undefined): void
  groupChanged(tenant: string, id: string, stored: StoredGroup | undefined): void
  schemaChanged(tenant: string, service: string, schema: ServiceSchema | undefined): void
  functionChanged(tenant: string, id: string, stored: StoredFunction | undefined): void
  templateChanged(tenant: string, name: string, stored: StoredTemplate | undefined): void
}

/** Notices about a project. Called as effects: after the commit, with the committed state. */
export interface ProjectNotices {
  /**
   * `before` and `after`: the SHA-256 of the image of the release before and after the change; null: no release.
   * `release`: the `releaseName` of the release.
   */
  releasesChanged(tenant: string, project: string, before: string | null, after: string | null, release: string): void
  /** The next scan of the project's devices is stored, and has to run. */
  scanRequested(tenant: string, project: string): void
  rolloutChanged(tenant: string, project: string): void
}

/** Notices about a turn of an update. Called as effects: after the commit, with the committed state. */
export interface UpdateNotices {
  /** `stored` undefined: the record was deleted. */
  updateMoved(tenant: string, device: string, stored: StoredUpdate | undefined): void
  /** The update server has to be asked. */
  updateCheckWanted(tenant: string, device: string, context: UpdateContext): void
  /** The offer has to be sent to the device. */
  updateOfferWanted(tenant: string, device: string, context: UpdateContext): void
  /** For callers that wait for the outcome of a trigger. §3.2. */
  triggerSettled(tenant: string, device: string, outcome: TriggerOutcome): void
  /** The update may be tried again. */
  updateRetryDue(tenant: string, device: string): void
  /** An update is done. The firmwares with the indexes in `rest` were not checked yet. */
  nextUpdateWanted(tenant: string, device: string, by: Trigger, rest: readonly number[]): void
}

/** Notices about mail requests. Called as effects: after the commit, with the committed state. */
export interface DeliveryNotices {
  requested(tenant: string, fn: string, head: DeliveryHead): void
}

/** Notices about webhooks, called like `DeliveryNotices`. */
export interface WebhookNotices {
  webhookAdded(tenant: string, fn: string, webhook: StoredWebhook): void
  /** The function was deleted. */
  webhooksForgotten(tenant: string, fn: string): void
}

/** Notices of tenants about the topics of subscriptions, called like `DeliveryNotices`. */
export interface TopicNotices {
  /** The function was deleted; its subscriptions have to end. */
  topicEnded(tenant: string, fn: string): void
}

/** Notices about subscribers. Called as effects: after the commit, with the committed state. */
export interface SubscriberNotices {
  subscribed(tenant: string, fn: string): void
  unsubscribed(tenant: string, fn: string, subscriber: string): void
}
