import { deliveryAddress } from '#actors/delivery/delivery'
import { isTenantActive } from '#actors/directory/queries'
import { outboxAddress } from '#actors/outbox/outbox'
import { type SubscriberCommand, subscriberAddress, subscriberIdOf } from '#actors/subscriber/state'
import { tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/notifications'
import { type Binding, bind, type Reply } from '#http/call'
import type { Caller } from '#model/caller'
import { formatCrn, idOfCrn } from '#model/crn'
import { skipReasons } from '#model/delivery'
import type { StoredFunction } from '#model/function'
import { randomId, seededRandom } from '#model/identifier'
import { Problem } from '#model/problem'
import type { BuiltInRole } from '#model/role'
import { everything } from '#model/scope'
import {
  maySubscribe,
  type StoredSubscription,
  type SubscribeBody,
  subscribersMax,
  subscriptionEntryOf,
} from '#model/subscription'
import { membersIn } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { resourceListReply, streamHeaders, textReply } from '#routes/replies'

/** Routes for subscriptions (§2.6, §3.1, §4.4, §7, contract 5.6), and for outgoing mail (contract 5.7). */
export function notificationRoutes(context: RouteContext): Binding[] {
  const { world } = context
  return [
    bind(api.listSubscriptions, (call) => {
      const { caller } = call
      // Read before the list: it then contains at least all events up to this position.
      const headers = streamHeaders(context, caller.tenant)
      const own = new Map(ownOf(context, caller).map((stored) => [nameOf(stored), stored.id]))
      return resourceListReply(context, call, own, {
        headers,
        isShown: (id) => shownOf(context, caller, id) !== undefined,
        textOf: (_, id) => textOf(shownOf(context, caller, id)),
      })
    }),

    bind(api.subscribe, async ({ caller, body, bodyBytes, seed, forwarded }) => {
      const id = randomId(seededRandom(seed))
      await askSubscriber(context, caller, bodyBytes.byteLength, () => {
        const fn = topicOf(context, caller, body)
        checkSubscriberLimit(context, caller, fn)
        const subscription: StoredSubscription = {
          id,
          function: fn,
          type: 'email',
          locale: body.locale,
          createdBy: caller.user,
          createdAt: world.now(),
          origin: forwarded.origins[0] ?? '',
        }
        return { type: 'subscribe', subscription, from: headOf(context, caller.tenant, fn) }
      })
      return {
        status: 201,
        headers: { Location: `/api/v1/notifications/subscribe/${id}` },
        json: { resourceIdentifier: formatCrn({ type: 'subscription', id }) },
      }
    }),

    bind(
      api.updateSubscription,
      async ({ caller, parameters: { subscriptionId: id }, body, bodyBytes, isRepeated }) => {
        const stored = await askSubscriber(context, caller, bodyBytes.byteLength, () => {
          mustBeThere(context, caller, id)
          return { type: 'set_locale', id, locale: body.locale, isRepeated }
        })
        return { status: 200, json: subscriptionEntryOf(stored as StoredSubscription) }
      },
    ),

    bind(api.unsubscribe, async ({ caller, parameters: { subscriptionId: id } }) => {
      await askSubscriber(context, caller, 0, () => {
        mustBeThere(context, caller, id)
        return { type: 'unsubscribe', id }
      })
      return { status: 204 }
    }),

    // The links in mails end subscriptions. RFC 2369, RFC 8058, contract 5.7.
    bind(api.readUnsubscribe, ({ parameters: { subscriptionId }, query }) => {
      checkSignature(context, subscriptionId, query)
      return pageOf(unsubscribeForm)
    }),

    bind(api.unsubscribeByLink, async (call) => {
      const { query, parameters } = call
      checkSignature(context, parameters.subscriptionId, query)
      const { tenant, user } = query
      call.identified({ tenant, user })
      if (isTenantActive(context.system, tenant)) {
        const end: SubscriberCommand = { type: 'unsubscribe', id: parameters.subscriptionId, isByLink: true }
        await context.system.ask(subscriberAddress(tenant, subscriberIdOf(user)), end)
      }
      // After a click the answer is a page; mail programs send the request themselves, and need no page.
      return call.header('accept').includes('text/html') ? pageOf(unsubscribedText) : { status: 204, headers: noStore }
    }),

    bind(api.readOutbox, ({ caller }) => {
      if (!isAdministrator(caller)) throw new Problem('forbidden')
      return textReply(context, JSON.stringify(outboxOf(context, caller.tenant)))
    }),
  ]
}

/** The function of the request, by its id. @throws Problem in the order of contract 5.6 */
function topicOf(context: RouteContext, { tenant, scope }: Caller, { type, topic }: SubscribeBody): string {
  if (type !== 'email') throw new Problem('bad_request_message', `${type} is not delivered yet; only email is`)
  const state = context.system.wake(tenantAddress(tenant))
  const fn = idOfCrn(topic, 'function')
  const stored = fn === undefined ? undefined : state.functions.get(fn)
  if (fn === undefined || !stored) {
    throw new Problem('bad_request_message', 'the topic is not a function of this tenant')
  }
  if (!maySubscribe(scope, stored satisfies StoredFunction, membersIn(state))) throw new Problem('forbidden')
  return fn
}

/**
 * Refuses a function with too many subscriptions. A caller that already has one gets 409 instead.
 * @throws Problem `bad_request_message`
 */
function checkSubscriberLimit(context: RouteContext, caller: Caller, fn: string): void {
  if (ownOf(context, caller).some((stored) => stored.function === fn)) return
  if (context.notifications.deliveries.countOf(caller.tenant, fn) < subscribersMax) return
  throw new Problem('bad_request_message', `a function has at most ${subscribersMax} subscriptions`)
}

/** The number of the function's last request for mails so far: the subscriber gets only later mails. */
function headOf({ system }: RouteContext, tenant: string, fn: string): number {
  return system.peek(deliveryAddress(tenant, fn)).head.seq
}

/** @throws Problem `not_found_empty`, also for another user's subscription */
function mustBeThere(context: RouteContext, caller: Caller, id: string): void {
  if (!shownOf(context, caller, id)) throw new Problem('not_found_empty')
}

/** Hides subscriptions of a deleted function: they are about to end. */
function shownOf(context: RouteContext, caller: Caller, id: string): StoredSubscription | undefined {
  const stored = ownOf(context, caller).find((each) => each.id === id)
  return stored && context.system.wake(tenantAddress(caller.tenant)).functions.has(stored.function) ? stored : undefined
}

function ownOf({ system }: RouteContext, { tenant, user }: Caller): readonly StoredSubscription[] {
  return system.peek(subscriberAddress(tenant, subscriberIdOf(user))).subscriptions
}

function askSubscriber(
  { system }: RouteContext,
  { tenant, user }: Caller,
  bytes: number,
  prepare: () => SubscriberCommand,
): Promise<unknown> {
  const to = subscriberAddress(tenant, subscriberIdOf(user))
  return system.askAtOnce(() => ({ to, command: prepare(), bytes }))
}

/** Sorts subscriptions in the order of their creation. */
function nameOf({ createdAt, id }: StoredSubscription): string {
  return `${String(createdAt).padStart(16, '0')}/${id}`
}

function textOf(stored: StoredSubscription | undefined): string | undefined {
  return stored && JSON.stringify(subscriptionEntryOf(stored))
}

interface SignedLink {
  readonly tenant: string
  readonly user: string
  readonly sig: string
}

/** @throws Problem `forbidden` */
function checkSignature(
  { notifications: { unsubscribeUrls } }: RouteContext,
  subscription: string,
  { tenant, user, sig }: SignedLink,
): void {
  if (!unsubscribeUrls.isValid({ tenant, user, subscription }, sig)) throw new Problem('forbidden')
}

const noStore = { 'Cache-Control': 'no-store' }

/** The page loads and runs nothing and must not be framed. Its address is a credential: other sites get no referrer. */
const pageHeaders = {
  ...noStore,
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'Referrer-Policy': 'same-origin',
}

/** The form is sent to the URL of its page. */
const unsubscribeForm = `<p>Do you want to stop receiving these mails?</p>
<form method="post"><button name="List-Unsubscribe" value="One-Click">Unsubscribe</button></form>`

const unsubscribedText = '<p>You will not receive these mails any more.</p>'

function pageOf(content: string): Reply {
  const text = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Unsubscribe</title>
${content}
</html>
`
  return { status: 200, headers: pageHeaders, text }
}

/**
 * The mail of all users requires the administrator role itself. Operators and viewers have all permissions for
 * notifications, but these are meant for their own subscriptions. With authentication off there are no roles, so full
 * permissions count.
 */
function isAdministrator({ roles, scope }: Caller): boolean {
  return roles.includes('admin' satisfies BuiltInRole) || scope === everything
}

function outboxOf({ system, notifications: { deliveries, mail } }: RouteContext, tenant: string): api.Outbox {
  const { sent, digests, digested, failures } = system.peek(outboxAddress(tenant)).tally
  const { requests, subscribers } = deliveries.backlogOf(tenant)
  return {
    waiting: { requests, subscribers },
    sent,
    digests,
    digested,
    failures: skipReasons.flatMap((reason) => {
      const failed = failures[reason]
      return failed ? [{ reason, count: failed.count, lastAt: failed.lastAt }] : []
    }),
    transport: { kind: mail.kind, ...deliveries.transport },
  }
}
