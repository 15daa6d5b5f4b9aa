import { outboxAddress } from '#actors/outbox/outbox'
import * as api from '#api/notifications'
import { type Binding, bind } from '#http/call'
import type { Caller } from '#model/caller'
import { skipReasons } from '#model/delivery'
import { Problem } from '#model/problem'
import type { BuiltInRole } from '#model/role'
import { everything } from '#model/scope'
import type { RouteContext } from '#routes/context'
import { textReply } from '#routes/list-reply'

/** Routes for the state of outgoing mail. Contract 5.7. */
export function outboxRoutes(context: RouteContext): Binding[] {
  return [
    bind(api.readOutbox, ({ caller }) => {
      if (!isAdministrator(caller)) throw new Problem('forbidden')
      return textReply(context, JSON.stringify(outboxOf(context, caller.tenant)))
    }),
  ]
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
