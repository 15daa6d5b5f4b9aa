import { z } from 'zod'
import { formatCrn, ResourceIdentifier } from '#model/crn'
import { bindingLists, type DeviceBinding, type MembersOf } from '#model/group'
import { isServerMadeId, Timestamp } from '#model/identifier'
import { type Resource, reachesLists, type Scope } from '#model/scope'

/** Subscriptions of users to functions. §2.6, contract 5.6. */

/** Maximum number of subscriptions of one user or API key. */
export const subscriptionsMax = 100

/** Maximum number of subscribers of one function. */
export const subscribersMax = 10_000

/** §2.6; only `email` is delivered. */
export const transports = ['email', 'apn', 'gcm', 'webpush'] as const

/** A language, and perhaps a region: `de`, `de-CH`. §2.1 */
export const Locale = z.string().regex(/^[a-z]{2}(-[A-Z]{2})?$/, 'must be a locale such as en or de-CH')

/** §2.1 */
export const SubscriptionId = z.string().refine(isServerMadeId, 'must be 9 to 16 letters and digits without I, O and l')

/** `topic` may be any text here: a topic that is not a function of the tenant gives another error. Contract 5.6. */
export const SubscribeBody = z.strictObject({ topic: z.string(), type: z.enum(transports), locale: Locale })
export type SubscribeBody = Readonly<z.infer<typeof SubscribeBody>>

/** The only field of a subscription that may change. §2.6 */
export const LocalePatch = z.strictObject({ locale: Locale })

/** A stored subscription. Times are Unix ms. */
export interface StoredSubscription {
  readonly id: string
  /** Id of the function. */
  readonly function: string
  readonly type: 'email'
  readonly locale: string
  /** The owner: the resource name of a user, or of an API key that acts as a user. */
  readonly createdBy: string
  readonly createdAt: number
  /**
   * The origin of the request that created the subscription, `https://host`: links in mails lead there if no public URL
   * is set; '' for none.
   */
  readonly origin: string
}

/** A subscription as the API returns it. §2.6 */
export const SubscriptionEntry = z.object({
  topic: ResourceIdentifier,
  type: z.enum(transports),
  locale: Locale,
  resourceIdentifier: ResourceIdentifier,
  createdBy: z.string(),
  createdAt: Timestamp,
})
export type SubscriptionEntry = Readonly<z.infer<typeof SubscriptionEntry>>

export function subscriptionEntryOf(stored: StoredSubscription): SubscriptionEntry {
  const { id, type, locale, createdBy, createdAt } = stored
  return {
    topic: formatCrn({ type: 'function', id: stored.function }),
    type,
    locale,
    resourceIdentifier: formatCrn({ type: 'subscription', id }),
    createdBy,
    createdAt,
  }
}

/**
 * Whether a caller with this scope may subscribe to a function with this binding. The scope must permit reading
 * functions of all bound devices, and some service of each device. The present members of groups count. §2.6, contract
 * 5.6.
 */
export function maySubscribe(scope: Scope, bound: DeviceBinding, membersOf: MembersOf): boolean {
  return mayReadAll(scope, 'functions', bound, membersOf) && mayReadAll(scope, 'service', bound, membersOf)
}

/**
 * Whether a scope permits reading a resource of all bound devices, with the present members of groups. `service`: the
 * grants must include this service.
 */
export function mayReadAll(
  scope: Scope,
  resource: Resource,
  bound: DeviceBinding,
  membersOf: MembersOf,
  service?: string,
): boolean {
  return reachesLists(scope, resource, 'read', bindingLists(bound, membersOf), service)
}
