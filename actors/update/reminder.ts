import { waitingAttempts } from '#actors/update/attempts'
import { isRunning } from '#actors/update/machine'
import type { UpdateActorState } from '#actors/update/state'
import { decideTransition, type UpdateParts } from '#actors/update/transition'
import type { Entry } from '#model/entry'
import { answer, type Decision, record, type Turn } from '#runtime/actor'

/**
 * The update has timed out, or it may be tried again. If a clock was set back since, neither is true, and the reminder
 * is set again.
 */
export function decideDue(actor: UpdateActorState, turn: Turn, parts: UpdateParts): Decision<Entry> {
  const { device, stored } = actor
  if (!stored) return answer(undefined)
  const { state, context, attempts } = stored
  const { now, tenant } = turn
  const waiting = waitingAttempts(attempts)
  const dueAt = isRunning(state) ? context.deadline : (waiting[0]?.nextAt ?? null)
  if (dueAt === null) return answer(undefined)
  if (dueAt > now) return record<Entry>([], { reminder: dueAt })
  if (isRunning(state)) {
    return decideTransition(actor, [{ type: 'DUE', now, offerUntil: now + parts.offerTimeoutMs }], turn, parts)
  }
  const later = waiting.find(({ nextAt }) => nextAt > now)
  return record<Entry>([], {
    ...(later && { reminder: later.nextAt }),
    effects: [() => parts.notices.updateRetryDue(tenant, device)],
  })
}
