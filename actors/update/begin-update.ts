import { isHeldBack } from '#actors/update/attempts'
import type { BeginAnswer, BeginUpdate } from '#actors/update/commands'
import { isRunning, noUpdate } from '#actors/update/machine'
import type { UpdateActorState, UpdateContext } from '#actors/update/state'
import { decideTransition, type UpdateParts } from '#actors/update/transition'
import type { Entry } from '#model/entry'
import { answer, type Decision, type Turn } from '#runtime/actor'

/**
 * One update at a time: a request during a running update joins it. If the offer is known already, asking causes no
 * event, so that a fleet that reconnects records no entries. Contract 6.
 */
export function decideBegin(
  actor: UpdateActorState,
  command: BeginUpdate,
  turn: Turn,
  parts: UpdateParts,
): Decision<Entry> {
  const { stored } = actor
  const { by, seed, found } = command
  if (stored && isRunning(stored.state)) return answerWith({ outcome: 'joined', state: stored.state })
  if (stored?.context.id === seed && stored.context.outcome)
    return answerWith({ outcome: 'over', said: stored.context.outcome })
  if (found && by !== 'post' && isHeldBack(stored?.attempts, found, turn.now))
    return answerWith({ outcome: 'held_back' })
  const moment = { now: turn.now, offerUntil: turn.now + parts.offerTimeoutMs }
  const begin = { type: 'BEGIN', ...moment, begun: begun(command, turn.now) } as const
  const events = found ? [begin, { type: 'FOUND', ...moment, found } as const] : [begin]
  return decideTransition(actor, events, turn, parts, { outcome: 'begun', id: seed } satisfies BeginAnswer)
}

function begun({ by, project, firmwares, session, seed }: BeginUpdate, now: number): UpdateContext {
  const [first, ...others] = [...firmwares].sort((a, b) => a.index - b.index)
  return {
    ...noUpdate,
    id: seed,
    by,
    project,
    index: first?.index ?? 0,
    from: first?.firmware ?? '',
    rest: others.map(({ index }) => index),
    session,
    beganAt: now,
  }
}

function answerWith(value: BeginAnswer): Decision<Entry> {
  return answer(value)
}
