import { z } from 'zod'
import { type Bound, type MembersOf, meantLists } from '#model/bound'
import { formatCrn, ResourceIdentifier } from '#model/crn'
import { isServerMadeId, Timestamp } from '#model/identifier'
import { type Resource, reachesLists, type Scope } from '#model/scope'

/** Who wants to hear of what a function finds, and how. §2.6, contract 5.6. */

/** Of one user, who may be an API key. */
export const subscriptionsMax = 100

/** To one function. */
export const subscribersMax = 10_000

/** §2.6; only `email` is delivered. */
export const transports = ['email', 'apn', 'gcm', 'webpush'] as const

/** A language, and perhaps a region: `de`, `de-CH`. §2.1 */
export const Locale = z.string().regex(/^[a-z]{2}(-[A-Z]{2})?$/, 'must be a locale such as en or de-CH')

/** §2.1 */
export const SubscriptionId = z.string().refine(isServerMadeId, 'must be 9 to 16 letters and digits without I, O and l')

/** `topic` may be any text here: what is no function of the tenant is refused in another way. Contract 5.6. */
export const SubscribeBody = z.strictObject({ topic: z.string(), type: z.enum(transports), locale: Locale })
export type SubscribeBody = Readonly<z.infer<typeof SubscribeBody>>

/** The only thing about a subscription that may change. §2.6 */
export const LocalePatch = z.strictObject({ locale: Locale })
export type LocalePatch = Readonly<z.infer<typeof LocalePatch>>

/** A subscription at rest. Times are Unix ms. */
export interface StoredSubscription {
  readonly id: string
  /** Id of the function. */
  readonly function: string
  readonly type: 'email'
  readonly locale: string
  /** `crn#user:…`, or the name of the API key that acts as one. Whose it is. */
  readonly createdBy: string
  readonly createdAt: number
  /** Under which it was made, `https://host`: where mails lead back to when no public URL is set; '' for none. */
  readonly origin: string
}

/** A subscription, as shown. §2.6 */
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
 * Who may subscribe to a function that is bound to this: whoever reads functions of all of it, and some service of each
 * device, members of groups as they are now. §2.6, contract 5.6.
 */
export function maySubscribe(scope: Scope, bound: Bound, membersOf: MembersOf): boolean {
  return readsAll(scope, 'functions', bound, membersOf) && readsAll(scope, 'service', bound, membersOf)
}

/** Whether somebody may read all that something is bound to, members of groups as they are now; a service in each of it. */
export function readsAll(
  scope: Scope,
  resource: Resource,
  bound: Bound,
  membersOf: MembersOf,
  service?: string,
): boolean {
  return reachesLists(scope, resource, 'read', meantLists(bound, membersOf), service)
}
